(* Sums of independent normal variables, and the Gaussian mechanism in several dimensions. *)

From Coq Require Import Reals Lra Psatz List.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Rows Gaussian Erfc Mass.
Open Scope R_scope.

Lemma tail_derive x : is_derive tail x (- n x).
Proof.
  apply (is_derive_ext (fun y => 1 / 2 - half y)). intro y. symmetry. apply tail_is.
  replace (- n x) with (0 - n x) by ring. apply (is_derive_minus (fun _ => 1 / 2) half x 0 (n x)).
  apply (is_derive_const (K := R_AbsRing) (V := R_NormedModule)). apply half_derive.
Qed.

Lemma n_at_most x : n x <= / sqrt (2 * PI).
Proof.
  unfold n, Rdiv. rewrite <- (Rmult_1_l (/ sqrt (2 * PI))) at 2. apply Rmult_le_compat_r.
  left; apply Rinv_0_lt_compat; apply root_positive. rewrite <- exp_0. apply exp_rises. assert (0 <= x * x) by nra. lra.
Qed.

Section Sum.
Variable alpha : R.
Let r := sqrt (1 + alpha * alpha).

Lemma r_square : r * r = 1 + alpha * alpha.
Proof. apply sqrt_sqrt. nra. Qed.

Lemma r_at_least_1 : 1 <= r.
Proof. unfold r. rewrite <- sqrt_1 at 1. apply sqrt_le_1_alt. nra. Qed.

(* The square is completed. *)
Lemma completed x t : n x * n (alpha * x + t) = n (t / r) * n (r * x + alpha * t / r).
Proof.
  generalize r_at_least_1 r_square. intros R1 R2.
  assert (E : x * x / 2 + (alpha * x + t) * (alpha * x + t) / 2
            = t / r * (t / r) / 2 + (r * x + alpha * t / r) * (r * x + alpha * t / r) / 2).
  { apply (Rmult_eq_reg_r (2 * (r * r))); [|nra].
    replace ((t / r * (t / r) / 2 + (r * x + alpha * t / r) * (r * x + alpha * t / r) / 2) * (2 * (r * r)))
      with (t * t * (1 + alpha * alpha) + r * r * (r * r) * (x * x) + 2 * (r * r) * alpha * x * t) by (field; lra).
    replace ((x * x / 2 + (alpha * x + t) * (alpha * x + t) / 2) * (2 * (r * r)))
      with (r * r * (x * x * (1 + alpha * alpha) + 2 * alpha * x * t + t * t)) by field.
    rewrite R2. ring. }
  unfold n. transitivity (exp (- (x * x / 2 + (alpha * x + t) * (alpha * x + t) / 2)) / (sqrt (2 * PI) * sqrt (2 * PI))).
  - rewrite Ropp_plus_distr, exp_plus. field. generalize root_positive; lra.
  - rewrite E, Ropp_plus_distr, exp_plus. field. generalize root_positive; lra.
Qed.

Lemma joint_integrable t a b : ex_RInt (fun x => n x * n (alpha * x + t)) a b.
Proof.
  apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros x _.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive. generalize root_positive; lra.
Qed.

Lemma joint t B : RInt (fun x => n x * n (alpha * x + t)) (- B) B
  = n (t / r) / r * RInt n (alpha * t / r - r * B) (alpha * t / r + r * B).
Proof.
  generalize r_at_least_1. intro R1.
  generalize (RInt_comp_lin n r (alpha * t / r) (- B) B (n_integrable _ _)). intro H.
  replace (r * - B + alpha * t / r) with (alpha * t / r - r * B) in H by ring.
  replace (r * B + alpha * t / r) with (alpha * t / r + r * B) in H by ring. rewrite <- H.
  rewrite <- scaled.
  - apply RInt_ext. intros x _. rewrite completed. unfold scal; simpl; unfold mult; simpl. field. lra.
  - apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros x _. unfold scal; simpl; unfold mult; simpl.
    apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive. generalize root_positive; lra.
Qed.

(* What a bounded interval leaves of the mass. *)
Lemma left_over c B : 1 - 2 * tail (B - Rabs c) <= RInt n (c - B) (c + B) <= 1.
Proof.
  assert (E : RInt n (c - B) (c + B) = 1 - tail (B - c) - tail (B + c)).
  { generalize (tail_split (c - B) (c + B)). replace (c - B) with (- (B - c)) at 1 by ring. rewrite tail_reflected.
    replace (c + B) with (B + c) by ring. lra. }
  rewrite E. generalize (tail_not_negative (B - c)) (tail_not_negative (B + c)).
  assert (tail (B - c) <= tail (B - Rabs c)) by (apply tail_falls; generalize (Rle_abs c); lra).
  assert (tail (B + c) <= tail (B - Rabs c)) by (apply tail_falls; generalize (Rle_abs (- c)); rewrite Rabs_Ropp; lra).
  lra.
Qed.

Lemma tail_vanishes c : is_lim (fun B => tail (B - c)) p_infty 0.
Proof.
  apply is_lim_spec. intro eps. generalize (tail_is_lim 0). intro H. apply is_lim_spec in H. destruct (H eps) as [M HM].
  exists (Rmax M 0 + c + 1). intros B HB. generalize (Rmax_l M 0) (Rmax_r M 0). intros.
  specialize (HM (B - c) ltac:(lra)). rewrite (tail_split 0 (B - c)) in HM.
  generalize (tail_not_negative (B - c)). intro. rewrite Rminus_0_r. rewrite Rabs_pos_eq by lra.
  apply Rabs_def2 in HM. lra.
Qed.

(** The density of a sum of two independent normal variables, here of alpha X - Y. *)
Theorem joint_limit t : is_lim (fun B => RInt (fun x => n x * n (alpha * x + t)) (- B) B) p_infty (n (t / r) / r).
Proof.
  generalize r_at_least_1. intro R1.
  apply (is_lim_ext (fun B => n (t / r) / r * RInt n (alpha * t / r - r * B) (alpha * t / r + r * B))).
  intro B. symmetry. apply joint.
  evar_last. apply (is_lim_scal_l _ (n (t / r) / r) p_infty 1).
  - apply (is_lim_le_le_loc (fun B => 1 - 2 * tail (B - Rabs (alpha * t / r))) (fun _ => 1)).
    + exists 0. intros B HB. split; [|apply left_over].
      apply Rle_trans with (2 := proj1 (left_over (alpha * t / r) (r * B))).
      assert (tail (r * B - Rabs (alpha * t / r)) <= tail (B - Rabs (alpha * t / r))) by (apply tail_falls; nra). lra.
    + replace (Finite 1) with (Finite (1 - 2 * 0)) by (f_equal; ring).
      apply is_lim_minus'. apply is_lim_const. apply (is_lim_scal_l _ 2 p_infty 0). apply tail_vanishes.
    + apply is_lim_const.
  - simpl. f_equal. ring.
Qed.
End Sum.

(* Equations between values of R as a space over itself. *)
Ltac real_ring := match goal with |- ?a = ?b => change (@eq R a b); ring end.

Section Tail_of_sum.
Variables alpha beta : R.
Let r := sqrt (1 + alpha * alpha).
Let F (B t : R) := RInt (fun x => n x * tail (alpha * x + t)) (- B) B.

Lemma tail_continuous x : continuous tail x.
Proof. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). eexists. apply tail_derive. Qed.

Lemma product_continuous a u v x : continuous (fun y => n (y - a) * tail (u * y + v)) x.
Proof.
  apply (continuous_mult (fun y => n (y - a)) (fun y => tail (u * y + v))). apply shifted_continuous.
  apply (continuous_comp (fun y => u * y + v) tail); [|apply tail_continuous].
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive. trivial.
Qed.

Lemma product_integrable a u v A B : ex_RInt (fun y => n (y - a) * tail (u * y + v)) A B.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply product_continuous. Qed.

Lemma product_0_integrable u v A B : ex_RInt (fun y => n y * tail (u * y + v)) A B.
Proof.
  apply (ex_RInt_ext (fun y => n (y - 0) * tail (u * y + v))). intros; rewrite Rminus_0_r; reflexivity. apply product_integrable.
Qed.

Lemma inner_derive x t : is_derive (fun u => n x * tail (alpha * x + u)) t (- (n x * n (alpha * x + t))).
Proof.
  replace (- (n x * n (alpha * x + t))) with (n x * (1 * - n (alpha * x + t))) by ring. apply is_derive_scal.
  apply (is_derive_comp tail (fun u => alpha * x + u)). apply tail_derive. auto_derive; trivial.
Qed.

Lemma F_derive B t : is_derive (F B) t (- RInt (fun x => n x * n (alpha * x + t)) (- B) B).
Proof.
  replace (- RInt (fun x => n x * n (alpha * x + t)) (- B) B)
    with (RInt (fun x => Derive (fun u => n x * tail (alpha * x + u)) t) (- B) B).
  - apply (is_derive_RInt_param (fun u x => n x * tail (alpha * x + u)) (- B) B t).
    + exists (mkposreal 1 Rlt_0_1). intros y _ x _. eexists. apply inner_derive.
    + intros x _. apply (continuity_2d_pt_ext (fun u v => - (n v * n (alpha * v + u)))).
      * intros u v. symmetry. apply is_derive_unique. apply inner_derive.
      * apply continuity_2d_pt_opp. apply (continuity_2d_pt_mult (fun u v => n v) (fun u v => n (alpha * v + u))).
        -- apply (continuity_1d_2d_pt_comp n (fun u v => v)). apply continuity_pt_filterlim. apply n_continuous.
           apply continuity_2d_pt_id2.
        -- apply (continuity_1d_2d_pt_comp n (fun u v => alpha * v + u)). apply continuity_pt_filterlim. apply n_continuous.
           apply (continuity_2d_pt_plus (fun u v => alpha * v)). apply (continuity_2d_pt_mult (fun _ _ => alpha)).
           apply continuity_2d_pt_const. apply continuity_2d_pt_id2. apply continuity_2d_pt_id1.
    + exists (mkposreal 1 Rlt_0_1). intros y _. apply product_0_integrable.
  - rewrite (RInt_ext _ (fun x => -1 * (n x * n (alpha * x + t)))).
    + rewrite scaled by apply joint_integrable. real_ring.
    + intros x _. etransitivity; [apply is_derive_unique; apply inner_derive | real_ring].
Qed.

Lemma F_0 B : F B 0 = RInt n (- B) B / 2.
Proof.
  assert (R : RInt (fun x => n (0 - x) * tail (alpha * (0 - x) + 0)) (- B) B = F B 0).
  { unfold F. generalize (reflected_integral (fun x => n x * tail (alpha * x + 0)) 0 (- B) B).
    replace (0 - B) with (- B) by ring. replace (0 - - B) with B by ring. intro H. apply H. apply product_0_integrable. }
  assert (S : RInt (fun x => n x - n x * tail (alpha * x + 0)) (- B) B = F B 0).
  { rewrite <- R. apply RInt_ext. intros x _. replace (0 - x) with (- x) by ring. rewrite n_even.
    replace (alpha * - x + 0) with (- (alpha * x + 0)) by ring. rewrite tail_reflected. simpl. ring. }
  rewrite difference in S. unfold F in *. lra. apply n_integrable. apply product_0_integrable.
Qed.

Lemma near B : 0 <= B -> Rabs (F B beta - tail (beta / r)) <= tail B + 2 * Rabs beta * tail (B - Rabs (alpha * beta)).
Proof.
  intro HB. generalize (r_at_least_1 alpha). fold r. intro R1.
  set (D := fun t => F B t - tail (t / r)).
  assert (dD : forall t, is_derive D t (n (t / r) / r * (1 - RInt n (alpha * t / r - r * B) (alpha * t / r + r * B)))).
  { intro t. unfold D. evar_last. apply (is_derive_minus (F B) (fun t => tail (t / r))). apply F_derive.
    apply (is_derive_comp tail (fun t => t / r)). apply tail_derive. auto_derive. lra. reflexivity.
    rewrite joint. fold r. unfold minus, plus, opp, scal; simpl; unfold mult; simpl. field. lra. }
  destruct (MVT_gen D 0 beta (fun t => n (t / r) / r * (1 - RInt n (alpha * t / r - r * B) (alpha * t / r + r * B)))) as [c [C E]].
  - intros; apply dD.
  - intros x _. apply continuity_pt_filterlim. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). eexists. apply dD.
  - assert (C' : Rabs c <= Rabs beta).
    { revert C. unfold Rmin, Rmax. destruct (Rle_dec 0 beta); intro; unfold Rabs; destruct (Rcase_abs c), (Rcase_abs beta); lra. }
    assert (M : 0 <= 1 - RInt n (alpha * c / r - r * B) (alpha * c / r + r * B) <= 2 * tail (B - Rabs (alpha * beta))).
    { generalize (left_over (alpha * c / r) (r * B)).
      assert (T : Rabs (alpha * c / r) <= Rabs (alpha * beta)).
      { unfold Rdiv. rewrite !Rabs_mult. rewrite (Rabs_pos_eq (/ r)) by (left; apply Rinv_0_lt_compat; lra).
        assert (/ r <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
        assert (0 < / r) by (apply Rinv_0_lt_compat; lra).
        generalize (Rabs_pos alpha) (Rabs_pos c). intros.
        apply Rle_trans with (Rabs alpha * Rabs c * 1). apply Rmult_le_compat_l; nra. rewrite Rmult_1_r.
        apply Rmult_le_compat_l; lra. }
      assert (tail (r * B - Rabs (alpha * c / r)) <= tail (B - Rabs (alpha * beta))) by (apply tail_falls; nra). lra. }
    assert (N : 0 <= n (c / r) / r <= 1).
    { generalize (n_positive (c / r)) (n_at_most (c / r)). intros.
      assert (/ sqrt (2 * PI) <= 1).
      { rewrite <- Rinv_1. apply Rinv_le_contravar. lra. rewrite <- sqrt_1. apply sqrt_le_1_alt. generalize PI2_1. lra. }
      split. apply Rlt_le, Rdiv_lt_0_compat; lra. apply (Rmult_le_reg_r r). lra. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (D0 : D 0 = (RInt n (- B) B - 1) / 2).
    { unfold D. rewrite F_0. replace (0 / r) with 0 by (field; lra). rewrite tail_0. field. }
    generalize (left_over 0 B). rewrite Rabs_R0, Rminus_0_r, Rplus_0_l, Rminus_0_l. intro Z.
    change (F B beta - tail (beta / r)) with (D beta).
    replace (D beta) with (D beta - D 0 + D 0) by ring. rewrite E, D0.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rplus_comm. apply Rplus_le_compat.
    + apply Rabs_le. lra.
    + rewrite Rminus_0_r, (Rabs_mult (n (c / r) / r * (1 - _)) beta), (Rabs_mult (n (c / r) / r)). rewrite (Rabs_pos_eq (n (c / r) / r)) by lra.
      rewrite (Rabs_pos_eq (1 - _)) by lra. generalize (Rabs_pos beta). intro.
      replace (2 * Rabs beta * tail (B - Rabs (alpha * beta))) with (2 * tail (B - Rabs (alpha * beta)) * Rabs beta) by ring.
      apply Rmult_le_compat_r. lra. nra.
Qed.

(** P(Y > alpha X + beta) for independent X, Y of N(0, 1). *)
Theorem tail_of_sum : is_lim (fun B => RInt (fun x => n x * tail (alpha * x + beta)) (- B) B) p_infty (tail (beta / r)).
Proof.
  change (is_lim (fun B => F B beta) p_infty (tail (beta / r))).
  assert (Z : is_lim (fun B => tail B + 2 * Rabs beta * tail (B - Rabs (alpha * beta))) p_infty 0).
  { replace (Finite 0) with (Finite (0 + 2 * Rabs beta * 0)) by (f_equal; ring). apply is_lim_plus'.
    - apply (is_lim_ext (fun B => tail (B - 0))). intro; f_equal; ring. apply tail_vanishes.
    - apply (is_lim_scal_l _ (2 * Rabs beta) p_infty 0). apply tail_vanishes. }
  apply (is_lim_ext (fun B => tail (beta / r) + (F B beta - tail (beta / r)))). intro; ring.
  replace (Finite (tail (beta / r))) with (Finite (tail (beta / r) + 0)) by (f_equal; ring).
  apply is_lim_plus'. apply is_lim_const.
  apply (is_lim_le_le_loc (fun B => - (tail B + 2 * Rabs beta * tail (B - Rabs (alpha * beta))))
                          (fun B => tail B + 2 * Rabs beta * tail (B - Rabs (alpha * beta)))).
  - exists 0. intros B HB. generalize (near B ltac:(lra)). intro H. apply Rabs_le_between in H. exact H.
  - replace (Finite 0) with (Finite (-1 * 0)) by (f_equal; ring).
    apply (is_lim_ext (fun B => -1 * (tail B + 2 * Rabs beta * tail (B - Rabs (alpha * beta))))). intro; ring.
    apply (is_lim_scal_l _ (-1) p_infty 0). exact Z.
  - exact Z.
Qed.

(* On any bounded interval there is no more. *)
Lemma tail_of_sum_at_most A B : A <= B -> RInt (fun x => n x * tail (alpha * x + beta)) A B <= tail (beta / r).
Proof.
  intro H. assert (P : forall x, 0 <= n x * tail (alpha * x + beta)).
  { intro x. apply Rmult_le_pos. left; apply n_positive. apply tail_not_negative. }
  apply (is_lim_le_loc (fun _ => RInt (fun x => n x * tail (alpha * x + beta)) A B) (fun M => F M beta) p_infty
          (RInt (fun x => n x * tail (alpha * x + beta)) A B) (tail (beta / r))).
  - exists (Rmax (Rabs A) (Rabs B)). intros M HM. unfold F.
    generalize (Rmax_l (Rabs A) (Rabs B)) (Rmax_r (Rabs A) (Rabs B)) (Rle_abs B) (Rle_abs (- A)). rewrite Rabs_Ropp. intros.
    rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) (fun x => n x * tail (alpha * x + beta)) (- M) A M) by apply product_0_integrable.
    rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) (fun x => n x * tail (alpha * x + beta)) A B M) by apply product_0_integrable.
    unfold plus; simpl.
    assert (0 <= RInt (fun x => n x * tail (alpha * x + beta)) (- M) A)
      by (apply RInt_ge_0; [lra | apply product_0_integrable | intros; apply P]).
    assert (0 <= RInt (fun x => n x * tail (alpha * x + beta)) B M)
      by (apply RInt_ge_0; [lra | apply product_0_integrable | intros; apply P]).
    lra.
  - apply is_lim_const.
  - apply tail_of_sum.
Qed.
End Tail_of_sum.
