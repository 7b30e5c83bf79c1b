(* CorBin-FL: a row about the Gaussian mechanism, on a range on which bisection is no use. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc Classical.
Open Scope R_scope.

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

Theorem CB_X1_gauss epsilon : 1 / 20 <= epsilon <= 77 / 5 ->
  (1 / 100000) <= (((erfc (((sqrt 2) * ((((-1) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))) / (sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2)))) + (((sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2))) * epsilon) / (2 * (1 - (2 / (1 + (exp (2 * (epsilon / 2)))))))))) / 2)) / 2) + (((-1) * (erfc (((sqrt 2) * (((1 - (2 / (1 + (exp (2 * (epsilon / 2)))))) / (sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2)))) + (((sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2))) * epsilon) / (2 * (1 - (2 / (1 + (exp (2 * (epsilon / 2)))))))))) / 2)) * (exp epsilon)) / 2)).
Proof.
  intro P. replace (2 * (epsilon / 2)) with epsilon by field.
  assert (T0 : 1 / 100 <= 1 - 2 / (1 + exp epsilon)) by interval.
  assert (K0 : 1 / 100 <= sqrt (1 / 2 + (-1 * (Rmax 0 (1 + -2 * (1 - 2 / (1 + exp epsilon)))) ^ 2) / 2))
    by (cased; interval with (i_bisect epsilon, i_depth 20)).
  set (T := 1 - 2 / (1 + exp epsilon)) in *.
  set (k := sqrt (1 / 2 + (-1 * (Rmax 0 (1 + -2 * T)) ^ 2) / 2)) in *.
  rewrite !erfc_tail. set (mu := 2 * T / k).
  assert (M : 0 < mu) by (unfold mu; apply Rdiv_lt_0_compat; lra).
  replace (-1 * T / k + k * epsilon / (2 * T)) with (epsilon / mu - mu / 2) by (unfold mu; field; lra).
  replace (T / k + k * epsilon / (2 * T)) with (epsilon / mu + mu / 2) by (unfold mu; field; lra).
  enough (1 / 100000 <= delta mu epsilon) by (unfold delta in *; lra).
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
