(* Utility fairness: rows about the Gaussian mechanism, on ranges on which bisection is no use. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc Mass Classical.
Open Scope R_scope.

Theorem UF_E25 deviation theta epsilon delta : 0 <= deviation <= 1 -> 0 <= theta <= 99 / 100 -> 0 < epsilon <= 1 -> 0 < delta <= 99 / 100 ->
  (((erfc (((sqrt 2) * ((((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) / (1 + ((-1) * deviation * theta))) + (((-1) * (sqrt 2) * (1 + ((-1) * deviation * theta)) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) / 2)
  + (((-1) * (erfc (((sqrt 2) * ((((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) / (1 + ((-1) * deviation * theta))) + (((sqrt 2) * (1 + ((-1) * deviation * theta)) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) * (exp epsilon)) / 2)) <= delta.
Proof.
  intros V T E D. apply (row delta epsilon D E (sqrt (ln (5 / (4 * delta)))) (1 + (-1) * deviation * theta) eq_refl). nra.
Qed.

Theorem UF_loss delta epsilon : 0 < delta <= 1 / 2 -> 0 < epsilon <= 1 ->
  ((erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((-1) * (sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) / 2) <= delta.
Proof. intros D E. apply (first_row delta epsilon); lra. Qed.
