(* The classical calibration of the Gaussian mechanism, on its whole range. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc.
Open Scope R_scope.

Lemma erfc_tail z : erfc (sqrt 2 * z / 2) = 2 * tail z.
Proof.
  unfold erfc. replace (sqrt 2 * (sqrt 2 * z / 2)) with z. reflexivity.
  replace (sqrt 2 * (sqrt 2 * z / 2)) with (sqrt 2 * sqrt 2 * z / 2) by field. rewrite sqrt_sqrt; lra.
Qed.

Lemma tail_between a b : a <= b -> tail a - tail b <= (b - a) / sqrt (2 * PI).
Proof.
  intro H. rewrite (tail_split a b). enough (RInt n a b <= (b - a) / sqrt (2 * PI)) by lra.
  assert (C : RInt (fun _ => / sqrt (2 * PI)) a b = (b - a) / sqrt (2 * PI))
    by exact (RInt_const (V := R_CompleteNormedModule) a b (/ sqrt (2 * PI))).
  rewrite <- C.
  apply RInt_le; try easy. apply n_integrable. apply ex_RInt_const.
  intros x _. unfold n, Rdiv. rewrite <- (Rmult_1_l (/ sqrt (2 * PI))) at 2.
  apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat. apply root_positive.
  rewrite <- exp_0. apply exp_rises. assert (0 <= x * x) by nra. lra.
Qed.

Section Classical.
Variables delta epsilon : R.
Hypothesis delta_positive : 0 < delta.
Hypothesis epsilon_range : 0 < epsilon <= 1.
Let s := sqrt 2 * sqrt (ln (5 / (4 * delta))).

Lemma s_square : delta <= 99 / 100 -> s * s = 2 * ln (5 / (4 * delta)) /\ 23 / 100 <= ln (5 / (4 * delta)).
Proof.
  intro D. assert (H : 23 / 100 <= ln (5 / (4 * delta))).
  { apply Rle_trans with (ln (5 / (4 * (99 / 100)))). interval. apply ln_rises. lra.
    apply Rmult_le_compat_l. lra. apply Rinv_le_contravar; lra. }
  split; [|exact H]. unfold s.
  replace (sqrt 2 * sqrt (ln (5 / (4 * delta))) * (sqrt 2 * sqrt (ln (5 / (4 * delta)))))
    with (sqrt 2 * sqrt 2 * (sqrt (ln (5 / (4 * delta))) * sqrt (ln (5 / (4 * delta))))) by ring.
  rewrite !sqrt_sqrt; lra.
Qed.

Lemma s_positive : delta <= 99 / 100 -> 0 < s.
Proof.
  intro D. destruct (s_square D) as [_ H]. unfold s. apply Rmult_lt_0_compat; apply sqrt_lt_R0; lra.
Qed.

Lemma argument_rises S : 0 < s -> s <= S -> s - epsilon / (2 * s) <= S - epsilon / (2 * S).
Proof.
  intros P H. assert (epsilon / (2 * S) <= epsilon / (2 * s)).
  { apply Rmult_le_compat_l. lra. apply Rinv_le_contravar; lra. } lra.
Qed.

(* One tail is enough while delta is at most 0.74. *)
Lemma classical_first S : delta <= 74 / 100 -> s <= S -> tail (S - epsilon / (2 * S)) <= delta.
Proof.
  intros D H. assert (D' : delta <= 99 / 100) by lra. destruct (s_square D') as [Q _]. generalize (s_positive D'). intro P.
  apply Rle_trans with (tail (s - epsilon / (2 * s))). apply tail_falls. apply argument_rises; assumption.
  assert (L : 524 / 1000 <= ln (5 / (4 * delta))).
  { apply Rle_trans with (ln (5 / (4 * (74 / 100)))). interval. apply ln_rises. lra.
    apply Rmult_le_compat_l. lra. apply Rinv_le_contravar; lra. }
  assert (B : 1023 / 1000 <= s) by nra.
  assert (T : 534 / 1000 <= s - epsilon / (2 * s)).
  { assert (epsilon / (2 * s) <= 1 / (2 * (1023 / 1000))).
    { unfold Rdiv. apply Rmult_le_compat; try lra. left; apply Rinv_0_lt_compat; lra. apply Rinv_le_contravar; lra. }
    lra. }
  set (t := s - epsilon / (2 * s)) in *.
  apply Rle_trans with (n t / t). apply mills. lra.
  assert (N : n t <= 4 * delta / 5 * exp (1 / 2) / sqrt (2 * PI)).
  { unfold n, Rdiv at 1 5. apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; apply root_positive.
    replace (4 * delta / 5) with (exp (- ln (5 / (4 * delta)))).
    - rewrite <- exp_plus. apply exp_rises.
      assert (t * t = s * s - epsilon + (epsilon / (2 * s)) * (epsilon / (2 * s))) by (unfold t; field; lra).
      assert (0 <= (epsilon / (2 * s)) * (epsilon / (2 * s))) by apply Rle_0_sqr. lra.
    - rewrite exp_Ropp, exp_ln. field. lra. apply Rdiv_lt_0_compat; lra. }
  apply (Rmult_le_reg_r t). lra. replace (n t / t * t) with (n t) by (field; lra).
  apply Rle_trans with (1 := N).
  replace (4 * delta / 5 * exp (1 / 2) / sqrt (2 * PI)) with (delta * (4 / 5 * exp (1 / 2) / sqrt (2 * PI)))
    by (field; generalize root_positive; lra).
  apply Rmult_le_compat_l. lra. apply Rle_trans with (534 / 1000). interval. exact T.
Qed.

(* The classical calibration of the Gaussian mechanism, and every greater noise. *)
Lemma classical S X Y : delta <= 99 / 100 -> s <= S -> X = - (epsilon / (2 * S)) -> Y = epsilon / (2 * S) ->
  tail (S + X) - exp epsilon * tail (S + Y) <= delta.
Proof.
  intros D H -> ->. generalize (tail_not_negative (S + epsilon / (2 * S))) (exp_pos epsilon). intros T E.
  destruct (Rle_dec delta (74 / 100)) as [C|C].
  - generalize (classical_first S C H). unfold Rminus. nra.
  - destruct (s_square D) as [Q L]. generalize (s_positive D). intro P.
    assert (1 <= exp epsilon) by (rewrite <- exp_0; apply exp_rises; lra).
    assert (B : 678 / 1000 <= s) by nra.
    assert (W : epsilon / S <= 1 / (678 / 1000)).
    { unfold Rdiv. apply Rmult_le_compat; try lra. left; apply Rinv_0_lt_compat; lra. apply Rinv_le_contravar; lra. }
    assert (0 <= epsilon / S) by (apply Rlt_le, Rdiv_lt_0_compat; lra).
    assert (Z : epsilon / (2 * S) = epsilon / S / 2) by (field; lra).
    generalize (tail_between (S + - (epsilon / (2 * S))) (S + epsilon / (2 * S)) ltac:(lra)). intro M.
    replace (S + epsilon / (2 * S) - (S + - (epsilon / (2 * S)))) with (epsilon / S) in M by (field; lra).
    assert (epsilon / S / sqrt (2 * PI) <= 74 / 100).
    { apply Rle_trans with (1 / (678 / 1000) / sqrt (2 * PI)); [|interval].
      apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; apply root_positive. exact W. }
    nra.
Qed.
End Classical.

Lemma half_loss r l q e : r * r = 2 -> 0 < r -> 0 < l -> 0 < q -> r * q * e / (4 * l) = e / (2 * (r * l / q)).
Proof. intros R2 R0 L0 Q0. replace 4 with (2 * (r * r)) by lra. field. lra. Qed.

Lemma root_two : sqrt 2 * sqrt 2 = 2 /\ 0 < sqrt 2.
Proof. split. apply sqrt_sqrt; lra. apply sqrt_lt_R0; lra. Qed.

Section Rows.
Variables delta epsilon : R.
Hypothesis D : 0 < delta <= 99 / 100.
Hypothesis P : 0 < epsilon <= 1.

Lemma row l q : l = sqrt (ln (5 / (4 * delta))) -> 0 < q <= 1 ->
  (erfc (sqrt 2 * (sqrt 2 * l / q + -1 * sqrt 2 * q * epsilon / (4 * l)) / 2) / 2)
  + (-1 * erfc (sqrt 2 * (sqrt 2 * l / q + sqrt 2 * q * epsilon / (4 * l)) / 2) * exp epsilon) / 2 <= delta.
Proof.
  intros E Q. assert (S : 0 < sqrt 2 * l) by (rewrite E; apply (s_positive delta); lra).
  destruct root_two as [R2 R0]. assert (L : 0 < l) by nra.
  rewrite !erfc_tail.
  generalize (half_loss (sqrt 2) l q epsilon R2 R0 L (proj1 Q)). intro H.
  assert (Y : sqrt 2 * l <= sqrt 2 * l / q).
  { apply (Rmult_le_reg_r q). lra. replace (sqrt 2 * l / q * q) with (sqrt 2 * l) by (field; lra). nra. }
  generalize (classical delta epsilon (proj1 D) P (sqrt 2 * l / q) (-1 * sqrt 2 * q * epsilon / (4 * l)) (sqrt 2 * q * epsilon / (4 * l))
    (proj2 D)). rewrite <- E. intro C. specialize (C Y). lapply C; [clear C; intro C | rewrite <- H; field; lra].
  specialize (C H). lra.
Qed.

Theorem classical_row :
  (erfc (sqrt 2 * (sqrt 2 * sqrt (ln (5 / (4 * delta))) + -1 * sqrt 2 * epsilon / (4 * sqrt (ln (5 / (4 * delta))))) / 2) / 2)
  + (-1 * erfc (sqrt 2 * (sqrt 2 * sqrt (ln (5 / (4 * delta))) + sqrt 2 * epsilon / (4 * sqrt (ln (5 / (4 * delta))))) / 2) * exp epsilon) / 2
  <= delta.
Proof.
  generalize (row _ 1 eq_refl ltac:(lra)). unfold Rdiv. rewrite Rinv_1, !Rmult_1_r. exact (fun H => H).
Qed.

Theorem first_row : delta <= 74 / 100 ->
  erfc (sqrt 2 * (sqrt 2 * sqrt (ln (5 / (4 * delta))) + -1 * sqrt 2 * epsilon / (4 * sqrt (ln (5 / (4 * delta))))) / 2) / 2 <= delta.
Proof.
  intro B. generalize (s_positive delta (proj1 D) (proj2 D)). intro S. destruct root_two as [R2 R0].
  set (l := sqrt (ln (5 / (4 * delta)))) in *. assert (L : 0 < l) by nra.
  rewrite erfc_tail.
  generalize (classical_first delta epsilon (proj1 D) P (sqrt 2 * l) B (Rle_refl _)).
  generalize (half_loss (sqrt 2) l 1 epsilon R2 R0 L Rlt_0_1). intros H C.
  replace (sqrt 2 * l / 1) with (sqrt 2 * l) in H by field. rewrite <- H in C.
  replace (sqrt 2 * l + -1 * sqrt 2 * epsilon / (4 * l)) with (sqrt 2 * l - sqrt 2 * 1 * epsilon / (4 * l)) by (field; lra).
  lra.
Qed.
End Rows.
