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

(* Mills' lower bound, of the part of the tail before x + L. *)
Lemma mills_lower x L : 0 < x -> 0 <= L -> x / (x * x + 1) * n x - n (x + L) <= tail x.
Proof.
  intros X HL. set (b := x + L).
  assert (I : is_RInt (fun y => n y * (1 - 2 / ((y * y + 1) * (y * y + 1)))) x b
    (minus (- (b / (b * b + 1)) * n b) (- (x / (x * x + 1)) * n x))).
  { apply (is_RInt_derive (V := R_CompleteNormedModule) (fun y => - (y / (y * y + 1)) * n y)).
    - intros y _.
      replace (n y * (1 - 2 / ((y * y + 1) * (y * y + 1))))
        with ((y * y - 1) / ((y * y + 1) * (y * y + 1)) * n y + - (y / (y * y + 1)) * (- y * n y)) by (field; nra).
      apply (is_derive_mult (fun y => - (y / (y * y + 1))) n); [|apply n_derive|intros; apply Rmult_comm].
      auto_derive. nra. field. nra.
    - intros y _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive.
      generalize root_positive; intro; repeat split; nra. }
  assert (B : RInt (fun y => n y * (1 - 2 / ((y * y + 1) * (y * y + 1)))) x b <= tail x).
  { apply Rle_trans with (RInt n x b); [|apply tail_at_least; unfold b; lra].
    apply RInt_le. unfold b; lra. eexists; exact I. apply n_integrable.
    intros y _. generalize (n_positive y). intro N. rewrite <- (Rmult_1_r (n y)) at 2. apply Rmult_le_compat_l. lra.
    assert (0 < 2 / ((y * y + 1) * (y * y + 1))) by (apply Rdiv_lt_0_compat; nra). lra. }
  rewrite (is_RInt_unique _ _ _ _ I) in B. unfold minus, plus, opp in B; simpl in B.
  assert (C : b / (b * b + 1) * n b <= n b).
  { rewrite <- (Rmult_1_l (n b)) at 2. apply Rmult_le_compat_r. left; apply n_positive.
    apply (Rmult_le_reg_r (b * b + 1)). nra. replace (b / (b * b + 1) * (b * b + 1)) with b by (field; nra). nra. }
  lra.
Qed.

(* The curve where the second tail is negligible beside the first: both by Mills. *)
Lemma curve_by_mills mu eps : 0 < mu -> 0 < eps / mu - mu / 2 ->
  let x := eps / mu - mu / 2 in n x * (x / (x * x + 1) - 1 / (eps / mu + mu / 2)) - n (x + 6) <= delta mu eps.
Proof.
  intros M X x. unfold delta. fold x.
  generalize (mills_lower x 6 X ltac:(lra)) (mills (eps / mu + mu / 2) ltac:(lra)). intros A B.
  assert (E : exp eps * n (eps / mu + mu / 2) = n x).
  { unfold n, x, Rdiv. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. field. lra. }
  set (y := eps / mu + mu / 2) in *. assert (0 < y) by (unfold x, y in *; lra).
  assert (C : exp eps * tail y <= n x * (1 / y)).
  { rewrite <- E, Rmult_assoc. apply Rmult_le_compat_l. left; apply exp_pos. unfold Rdiv in *. lra. }
  lra.
Qed.

(* The curve from the gain between 1/2 and 1 beyond the point where the two densities balance. *)
Lemma curve_from_a_step mu eps : 1 / 5 <= mu -> -1 <= eps / mu - mu / 2 <= 1 -> 1 / 1000 <= delta mu eps.
Proof.
  intros M X. set (t := eps / mu + mu / 2).
  apply Rle_trans with (RInt (excess mu eps) t (t + 1)); [|apply at_most; unfold t; lra].
  assert (F : forall x, excess mu eps x = n (x - mu) * (1 - exp (- (mu * (x - t))))).
  { intro x. unfold excess. replace (n (x - mu) * (1 - exp (- (mu * (x - t)))))
      with (n (x - mu) - n (x - mu) * exp (- (mu * (x - t)))) by ring.
    f_equal. unfold n, Rdiv. rewrite (Rmult_comm (exp eps)).
    replace (exp (- ((x - mu) * (x - mu) * / 2)) * / sqrt (2 * PI) * exp (- (mu * (x - t))))
      with (exp (- ((x - mu) * (x - mu) * / 2)) * exp (- (mu * (x - t))) * / sqrt (2 * PI)) by ring.
    rewrite <- exp_plus. rewrite Rmult_assoc, (Rmult_comm (/ sqrt (2 * PI))), <- Rmult_assoc, <- exp_plus.
    f_equal. f_equal. unfold t. field. lra. }
  rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) (excess mu eps) t (t + 1 / 2) (t + 1))
    by apply excess_integrable.
  assert (A : 0 <= RInt (excess mu eps) t (t + 1 / 2)).
  { apply RInt_ge_0. lra. apply excess_integrable. intros x Hx. rewrite F.
    apply Rmult_le_pos. left; apply n_positive.
    assert (exp (- (mu * (x - t))) <= 1). { rewrite <- exp_0. apply exp_rises. nra. } lra. }
  assert (B : 1 / 1000 <= RInt (excess mu eps) (t + 1 / 2) (t + 1)).
  { apply Rle_trans with (RInt (V := R_CompleteNormedModule) (fun _ => 2 / 1000) (t + 1 / 2) (t + 1)).
    - right. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. field.
    - apply RInt_le. lra. apply ex_RInt_const. apply excess_integrable. intros x Hx. rewrite F.
      assert (Y : -2 <= x - mu <= 2) by (unfold t in Hx; lra).
      assert (N : 5 / 100 <= n (x - mu)).
      { apply Rle_trans with (exp (-2) / sqrt (2 * PI)). interval. unfold n, Rdiv. apply Rmult_le_compat_r.
        left; apply Rinv_0_lt_compat; apply root_positive. apply exp_rises. nra. }
      assert (E : exp (- (mu * (x - t))) <= exp (- (1 / 10))) by (apply exp_rises; nra).
      assert (G : exp (- (1 / 10)) <= 95 / 100) by interval.
      nra. }
  unfold plus; simpl. lra.
Qed.

(* Gaussian noise with the variance k^2 against a move by 2 T: that of CorBin-FL's pair at its worst (CB-X1-gauss). *)
Lemma pair_against_gauss epsilon : 1 / 20 <= epsilon <= 77 / 5 ->
  let T := 1 - 2 / (1 + exp epsilon) in let k := sqrt (1 / 2 + (-1 * (Rmax 0 (1 + -2 * T)) ^ 2) / 2) in
  0 < T /\ 0 < k /\ 1 / 100000 <= delta (2 * T / k) epsilon.
Proof.
  intros P T k.
  assert (T0 : 1 / 100 <= T) by (unfold T; interval).
  assert (K0 : 1 / 100 <= k) by (unfold k, T; cased; interval with (i_bisect epsilon, i_depth 20)).
  split; [lra | split; [lra|]]. set (mu := 2 * T / k).
  assert (M : 0 < mu) by (unfold mu; apply Rdiv_lt_0_compat; lra).
  destruct (Rle_dec epsilon 6) as [S|S].
  - apply Rle_trans with (1 / 1000). lra. apply curve_from_a_step.
    + unfold mu, k, T. cased. interval with (i_bisect epsilon, i_depth 20).
    + split; unfold mu, k, T; cased; interval with (i_bisect epsilon, i_depth 20).
  - assert (6 <= epsilon) by lra. assert (K : k = sqrt (1 / 2)).
    { unfold k. f_equal. rewrite Rmax_left. lra. unfold T. interval with (i_bisect epsilon). }
    assert (X : 1 / 2 <= epsilon / mu - mu / 2) by (unfold mu; rewrite K; unfold T; interval with (i_bisect epsilon, i_depth 20)).
    apply Rle_trans with (2 := curve_by_mills mu epsilon M ltac:(lra)).
    unfold mu. rewrite K. unfold T, n. apply Rminus_le.
    interval with (i_bisect epsilon, i_depth 20, i_autodiff epsilon).
Qed.
