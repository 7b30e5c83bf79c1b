"""The published theorems, executed: ledger, search for counterexamples, certification, reports and the command."""
