(* Collaborative inference: rows that hold on a range, and on which bisection is no use. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc Mass Classical.
Open Scope R_scope.

Theorem FDP_D2_eps1 delta epsilon : 0 < delta <= 99 / 100 -> 0 < epsilon <= 1 ->
  (((erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((-1) * (sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) / 2)
  + (((-1) * (erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) * (exp epsilon)) / 2)) <= delta.
Proof. exact (classical_row delta epsilon). Qed.

Theorem FDP_L6_private delta epsilon : 0 < delta <= 99 / 100 -> 0 < epsilon <= 1 ->
  (((erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((-1) * (sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) / 2)
  + (((-1) * (erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) * (exp epsilon)) / 2)) <= delta.
Proof. exact (classical_row delta epsilon). Qed.

(* The greatest argument is 1/72, and erfc there is about 0.98. *)
Theorem FDP_F6_vacuous fig_6 : 9 / 50 <= fig_6 <= 100 -> 1 <= (11 * erfc (1 / (400 * fig_6))) / 2.
Proof.
  intro H. assert (B : 1 / (400 * fig_6) <= 1 / 72).
  { apply Rmult_le_compat_l. lra. apply Rinv_le_contravar; lra. }
  apply erfc_falls in B. assert (1 / 2 <= erfc (1 / 72)) by (scaled (1 / 72) 9; interval with (i_prec 64)).
  lra.
Qed.

(* The second argument of the minimum is enough. *)
Theorem FDP_E15_bounded bound labels share : 1 / 100 <= bound <= 20 -> 2 <= labels <= 1000 -> 0 <= share <= 1 ->
  (((Rmin 1 ((bound * (ln 2)) / (2 * (ln labels)))) * share * (ln labels)) / (ln 2)) <= bound.
Proof.
  intros B L S. assert (T : 0 < ln 2) by interval.
  assert (P : 0 < ln labels). { apply Rlt_le_trans with (1 := T). apply ln_rises; lra. }
  generalize (Rmin_r 1 ((bound * ln 2) / (2 * ln labels))). intro M.
  apply Rle_trans with ((bound * ln 2) / (2 * ln labels) * share * ln labels / ln 2).
  - apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; exact T. apply Rmult_le_compat_r. lra.
    apply Rmult_le_compat_r; lra.
  - replace ((bound * ln 2) / (2 * ln labels) * share * ln labels / ln 2) with (bound * share / 2) by (field; lra). nra.
Qed.
