From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Gaussian Erfc.
Open Scope R_scope.

Lemma tail_at_most x M : x <= M -> 1 <= M -> tail x <= RInt n x M + 2 / M * exp (- (M * M / 2)).
Proof.
  intros HM H1.
  assert (H : forall k, RInt n x (x + INR k) <= RInt n x M + 2 / M * exp (- (M * M / 2))).
  { intro k. apply Rle_trans with (RInt n x (M + INR k)).
    - apply grows. generalize (pos_INR k); lra. lra.
    - rewrite <- (RInt_Chasles n x M (M + INR k)); try apply n_integrable.
      unfold plus; simpl. apply Rplus_le_compat_l. apply beyond. exact H1. }
  exact (is_lim_seq_le _ _ (tail x) (RInt n x M + 2 / M * exp (- (M * M / 2))) H (tail_limit x) (is_lim_seq_const _)).
Qed.

(** examples/good.toml: all twelve devices send. *)
Definition devices := 12.
Definition noise_variance := 0.001315522.
Definition weight := 0.051689.
Definition clip := 1.224214.
Definition alignment := 8.718684.
Definition receiver_noise_variance := 0.01.

(** How far the device's code moves the received coordinate along it, and the standard deviation of the noise there. *)
Definition distance := alignment * (weight * clip).
Definition deviation := sqrt (alignment * alignment * (devices * noise_variance) + receiver_noise_variance).
Definition mu := distance / deviation.

Ltac opened := unfold n, mu, distance, deviation, alignment, weight, clip, devices, noise_variance, receiver_noise_variance.

Lemma mu_positive : 0 < mu.
Proof. opened. interval. Qed.


Lemma in_order x : x = 2 \/ x = 1.999 -> x / mu - mu / 2 <= 12 /\ x / mu + mu / 2 <= 12.
Proof. intros [-> | ->]; opened; split; interval. Qed.

Lemma first_at_2 : RInt n (2 / mu - mu / 2) 12 <= 0.0000931633.
Proof. opened. integral with (i_prec 60, i_fuel 400, i_degree 15). Qed.

Lemma second_at_2 : 0.00001125503 <= RInt n (2 / mu + mu / 2) 12.
Proof. opened. integral with (i_prec 60, i_fuel 400, i_degree 15). Qed.

Lemma first_at_1999 : 0.0000939044 <= RInt n (1.999 / mu - mu / 2) 12.
Proof. opened. integral with (i_prec 60, i_fuel 400, i_degree 15). Qed.

Lemma second_at_1999 : RInt n (1.999 / mu + mu / 2) 12 <= 0.0000113554.
Proof. opened. integral with (i_prec 60, i_fuel 400, i_degree 15). Qed.

Lemma rest : 2 / 12 * exp (- (12 * 12 / 2)) <= 1e-30.
Proof. interval. Qed.

(** The least epsilon of the system at delta = 1e-5 is 2.00: enough at 2, not enough at 1.999. *)
Theorem good : delta mu 2 <= 1e-5 /\ 1e-5 < delta mu 1.999.
Proof.
  unfold delta. split.
  - generalize (tail_at_most (2 / mu - mu / 2) 12 (proj1 (in_order 2 (or_introl eq_refl))) ltac:(lra)).
    generalize (tail_at_least (2 / mu + mu / 2) 12 (proj2 (in_order 2 (or_introl eq_refl)))).
    generalize first_at_2 second_at_2 rest. intros H1 H2 H3 H4 H5.
    assert (7.38905609 <= exp 2) by interval.
    assert (7.38905609 * 0.00001125503 <= exp 2 * tail (2 / mu + mu / 2)) by (apply Rmult_le_compat; lra).
    lra.
  - generalize (tail_at_least (1.999 / mu - mu / 2) 12 (proj1 (in_order 1.999 (or_intror eq_refl)))).
    generalize (tail_at_most (1.999 / mu + mu / 2) 12 (proj2 (in_order 1.999 (or_intror eq_refl))) ltac:(lra)).
    generalize first_at_1999 second_at_1999 rest. intros H1 H2 H3 H4 H5.
    assert (H6 : exp 1.999 <= 7.3816708) by interval.
    assert (0 < exp 1.999) by apply exp_pos.
    assert (exp 1.999 * tail (1.999 / mu + mu / 2) <= 7.3816708 * (0.0000113554 + 1e-30)).
    { apply Rle_trans with (exp 1.999 * (0.0000113554 + 1e-30)).
      - apply Rmult_le_compat_l; lra.
      - apply Rmult_le_compat_r; lra. }
    lra.
Qed.

(** What the system promises, by the definition, whatever c the others' codes contribute to the coordinate: one law of y with the
    device's feature, one with its noise alone. Epsilon = 2 holds in both orders, 1.999 in neither. *)
Theorem system c :
  let there := normal (c + distance) deviation in
  let away := normal c deviation in
  below there away 2 1e-5 /\ below away there 2 1e-5 /\
  ~ below there away 1.999 1e-5 /\ ~ below away there 1.999 1e-5.
Proof.
  destruct good as [G2 G1999].
  assert (S : 0 < deviation) by (opened; interval).
  assert (D : 0 < distance) by (opened; interval).
  destruct (normals c distance deviation 2 1e-5 S D) as [F2 R2].
  destruct (normals c distance deviation 1.999 1e-5 S D) as [F1999 R1999].
  fold mu in *. repeat split.
  - apply F2. exact G2.
  - apply R2. exact G2.
  - intro H. apply F1999 in H. lra.
  - intro H. apply R1999 in H. lra.
Qed.

