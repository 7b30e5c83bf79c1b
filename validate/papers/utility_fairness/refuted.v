(* Utility fairness: refutations from gradient descent itself. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Model.
Open Scope R_scope.

(* UF-T1: as many steps as (22) allows do not bring every function to the accuracy. Curvature 1/10, step 1, Phi = 1/10: four steps. *)
Theorem UF_T1_false :
  ~ (forall mu step Phi (j : nat), 1 / 100 <= mu <= 1 -> 55 / 100 <= step <= 195 / 100 -> 1 / 10000 <= Phi <= 4 / 10 ->
     ln Phi / ln (step ^ 2 / 2 - step + 1) <= INR j ->
     quadratic mu (descent (quadratic mu) step j 1) <= Phi * quadratic mu 1).
Proof.
intros H.
specialize (H (1 / 10) 1 (1 / 10) 4%nat).
rewrite descent_quadratic in H. unfold quadratic in H. simpl in H.
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [lra | interval].
Qed.

(* UF-T1-necessary: one step along the steepest direction, where (22) asks for four *)
Theorem UF_T1_necessary_false :
  ~ (forall step Phi (j : nat), 55 / 100 <= step <= 195 / 100 -> 1 / 10000 <= Phi <= 4 / 10 ->
     quadratic 1 (descent (quadratic 1) step j 1) <= Phi * quadratic 1 1 ->
     ln Phi / ln (step ^ 2 / 2 - step + 1) <= INR j).
Proof.
intros H.
specialize (H 1 (1 / 10) 1%nat).
rewrite descent_quadratic in H. unfold quadratic in H. simpl in H.
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
assert (2 < ln (1 / 10) / ln (1 * (1 * 1) / 2 - 1 + 1)) by interval.
lra.
Qed.

(* UF-T1-step: a step beyond L/2 need not converge *)
Theorem UF_T1_step_false :
  ~ (forall L step, 1 / 10 <= L <= 10 -> 3 / 10 <= step <= 5 -> step > L / 2 ->
     quadratic L (descent (quadratic L) step 5 1) <= quadratic L 1).
Proof.
intros H.
specialize (H 1 5).
rewrite descent_quadratic in H. unfold quadratic in H.
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [lra | lra].
Qed.

(* UF-E51: the gradient against the excess *)
Theorem UF_E51_false :
  ~ (forall L x, 1 / 10 <= L <= 10 -> 1 / 100 <= x <= 5 ->
     Derive (quadratic L) x ^ 2 <= L * (quadratic L x - quadratic L 0)).
Proof.
intros H.
specialize (H 1 1).
rewrite slope in H. unfold quadratic in H.
lapply H; [clear H; intros H | lra].
lapply H; [lra | lra].
Qed.

(* UF-E53: what one step leaves *)
Theorem UF_E53_false :
  ~ (forall mu step, 1 / 100 <= mu <= 1 -> 5 / 100 <= step <= 195 / 100 ->
     quadratic mu (descent (quadratic mu) step 1 1) <= (step ^ 2 / 2 - step + 1) * quadratic mu 1).
Proof.
intros H.
specialize (H (1 / 10) 1).
rewrite descent_quadratic in H. unfold quadratic in H.
lapply H; [clear H; intros H | lra].
lapply H; [lra | lra].
Qed.

(* UF-E57: what j steps leave *)
Theorem UF_E57_false :
  ~ (forall (j : nat) mu step, (1 <= j <= 12)%nat -> 1 / 100 <= mu <= 1 -> 5 / 100 <= step <= 195 / 100 ->
     quadratic mu (descent (quadratic mu) step j 1) <= (step ^ 2 / 2 - step + 1) ^ j * quadratic mu 1).
Proof.
intros H.
specialize (H 1%nat (1 / 10) 1).
rewrite descent_quadratic in H. unfold quadratic in H.
lapply H; [clear H; intros H | split; repeat constructor].
lapply H; [clear H; intros H | lra].
lapply H; [lra | lra].
Qed.
