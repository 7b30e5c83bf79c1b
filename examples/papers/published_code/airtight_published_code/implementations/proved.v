(* Implementations: rows about the Gaussian mechanism, on ranges on which bisection is no use. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc Mass Classical.
Open Scope R_scope.

Theorem IM_DPL_classical delta epsilon : 0 < delta <= 99 / 100 -> 0 < epsilon <= 1 ->
  (((erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((-1) * (sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) / 2)
  + (((-1) * (erfc (((sqrt 2) * (((sqrt 2) * (sqrt (ln (5 / (4 * delta))))) + (((sqrt 2) * epsilon) / (4 * (sqrt (ln (5 / (4 * delta)))))))) / 2)) * (exp epsilon)) / 2)) <= delta.
Proof. exact (classical_row delta epsilon). Qed.

(* The total variation of two normal laws, at most the root of 1 - exp(-KL): by the density at 0 while z is at most 0.86, and by a rectangle
   below the tail above. *)
Theorem IM_TF_order sigma : 1 / 10 <= sigma <= 20 ->
  (1 + ((-1) * (erfc ((sqrt 2) / (4 * sigma))))) <= (sqrt (1 + ((-1) * (exp ((-1) / (2 * (sigma ^ 2))))))).
Proof.
  intro H. set (u := 1 / (2 * sigma)).
  assert (U : 1 / 41 <= u <= 51 / 10) by (unfold u; interval).
  assert (E1 : erfc (sqrt 2 / (4 * sigma)) = 2 * tail u).
  { rewrite <- erfc_tail. f_equal. unfold u. field. lra. }
  assert (E2 : -1 / (2 * sigma ^ 2) = - (2 * (u * u))) by (unfold u; field; lra).
  rewrite E1, E2.
  assert (X : exp (- (2 * (u * u))) < 1) by (rewrite <- exp_0; apply exp_increasing; nra).
  destruct (Rle_dec u (122 / 100)) as [C|C].
  - assert (S : 1 + -1 * (2 * tail u) <= 2 * u / sqrt (2 * PI)).
    { generalize (tail_between 0 u ltac:(lra)). rewrite tail_0, Rminus_0_r. unfold Rdiv. lra. }
    apply Rle_trans with (1 := S). apply Rsqr_incr_0_var; [|apply sqrt_pos].
    rewrite Rsqr_sqrt by lra. unfold Rsqr.
    replace (2 * u / sqrt (2 * PI) * (2 * u / sqrt (2 * PI))) with (4 * (u * u) / (sqrt (2 * PI) * sqrt (2 * PI)))
      by (field; generalize root_positive; lra).
    rewrite square_root_square. set (v := u * u) in *. assert (V : 1 / 1681 <= v <= 14884 / 10000) by (unfold v; nra).
    apply Rminus_le. interval with (i_bisect v, i_depth 20, i_autodiff v).
  - apply Rle_trans with (1 + -1 * exp (- (2 * (u * u)))).
    + assert (R : / sqrt (2 * PI) * (7 / 10) * exp (- ((u + 7 / 10) * (u + 7 / 10) / 2)) <= tail u).
      { apply Rle_trans with (RInt n u (u + 7 / 10)); [|apply tail_at_least; lra].
        apply Rle_trans with (RInt (V := R_CompleteNormedModule) (fun _ => n (u + 7 / 10)) u (u + 7 / 10)).
        - right. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. unfold n. field. generalize root_positive; lra.
        - apply RInt_le. lra. apply ex_RInt_const. apply n_integrable. intros x Hx. unfold n, Rdiv.
          apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; apply root_positive. apply exp_rises. nra. }
      assert (exp (- (2 * (u * u))) <= 2 * (/ sqrt (2 * PI) * (7 / 10) * exp (- ((u + 7 / 10) * (u + 7 / 10) / 2)))).
      { replace (- (2 * (u * u))) with (- ((u + 7 / 10) * (u + 7 / 10) / 2) + - (3 / 2 * (u * u) - 7 / 10 * u - 49 / 200)) by field.
        rewrite exp_plus. generalize (exp_pos (- ((u + 7 / 10) * (u + 7 / 10) / 2))). intro P.
        apply Rle_trans with (exp (- ((u + 7 / 10) * (u + 7 / 10) / 2)) * exp (- (1 / 1 * (112 / 100)))).
        - apply Rmult_le_compat_l. lra. apply exp_rises. nra.
        - assert (exp (- (1 / 1 * (112 / 100))) <= 2 * (/ sqrt (2 * PI) * (7 / 10))) by interval. nra. }
      lra.
    + set (w := 1 + -1 * exp (- (2 * (u * u)))). assert (W : 0 <= w <= 1) by (unfold w; generalize (exp_pos (- (2 * (u * u)))); lra).
      rewrite <- (sqrt_square w) at 1 by lra. apply sqrt_le_1_alt. nra.
Qed.
