(* PriCER: a row about the Gaussian mechanism, on a range on which bisection is no use. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Erfc Classical.
Open Scope R_scope.

Theorem PC_notrust epsilon : 1 / 1000 <= epsilon <= 1 ->
  (((erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln 1250))) + (((-1) * (sqrt 2) * epsilon) / (4 * (sqrt (ln 1250)))))) / 2)) / 2)
  + (((-1) * (erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln 1250))) + (((sqrt 2) * epsilon) / (4 * (sqrt (ln 1250)))))) / 2)) * (exp epsilon)) / 2)) <= (1 / 1000).
Proof.
  intro H. replace 1250 with (5 / (4 * (1 / 1000))) by field. apply classical_row; lra.
Qed.
