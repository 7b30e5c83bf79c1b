(* The total mass of N(0, 1) is 1; erfc is the function of the handbooks. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Gaussian Erfc.
Open Scope R_scope.

Definition kernel (x t : R) : R := exp (- (x * x * (1 + t * t) / 2)) / (1 + t * t).

Lemma denominator t : 1 + t * t <> 0.
Proof. assert (0 <= t * t) by nra. lra. Qed.

Lemma kernel_derive x t : is_derive (fun u => kernel u t) x (- x * exp (- (x * x * (1 + t * t) / 2))).
Proof. unfold kernel. auto_derive; trivial. unfold Rdiv. field. apply denominator. Qed.

Lemma kernel_integrable x a b : ex_RInt (fun t => kernel x t) a b.
Proof.
  apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold kernel. auto_derive. apply denominator.
Qed.

Lemma slope_continuous x t : continuity_2d_pt (fun u v => - u * exp (- (u * u * (1 + v * v) / 2))) x t.
Proof.
  apply (continuity_2d_pt_mult (fun u v => - u)).
  - apply continuity_2d_pt_opp. apply continuity_2d_pt_id1.
  - apply (continuity_1d_2d_pt_comp exp (fun u v => - (u * u * (1 + v * v) / 2))).
    + apply derivable_continuous_pt. apply derivable_pt_exp.
    + apply continuity_2d_pt_opp. apply (continuity_2d_pt_mult (fun u v => u * u * (1 + v * v)) (fun _ _ => / 2)).
      * apply continuity_2d_pt_mult. apply continuity_2d_pt_mult; apply continuity_2d_pt_id1.
        apply (continuity_2d_pt_plus (fun _ _ => 1)). apply continuity_2d_pt_const.
        apply continuity_2d_pt_mult; apply continuity_2d_pt_id2.
      * apply continuity_2d_pt_const.
Qed.

Definition J (x : R) : R := RInt (fun t => kernel x t) 0 1.
Definition half (x : R) : R := RInt n 0 x.

Lemma J_derive x : is_derive J x (RInt (fun t => - x * exp (- (x * x * (1 + t * t) / 2))) 0 1).
Proof.
  rewrite (RInt_ext _ (fun t => Derive (fun u => kernel u t) x)).
  2: { intros t _. symmetry. apply is_derive_unique. apply kernel_derive. }
  apply (is_derive_RInt_param kernel 0 1 x).
  - exists (mkposreal 1 Rlt_0_1). intros y _ t _. eexists. apply kernel_derive.
  - intros t _. apply (continuity_2d_pt_ext (fun u v => - u * exp (- (u * u * (1 + v * v) / 2)))).
    + intros u v. symmetry. apply is_derive_unique. apply kernel_derive.
    + apply slope_continuous.
  - exists (mkposreal 1 Rlt_0_1). intros y _. apply kernel_integrable.
Qed.

Lemma half_derive x : is_derive half x (n x).
Proof.
  apply (is_derive_RInt n half 0 x).
  - exists (mkposreal 1 Rlt_0_1). intros y _. apply (RInt_correct (V := R_CompleteNormedModule)). apply n_integrable.
  - apply n_continuous.
Qed.

(* The integral from 0 to x, as one from 0 to 1. *)
Lemma half_scaled x : half x = RInt (fun t => x * n (x * t)) 0 1.
Proof.
  unfold half. generalize (RInt_comp_lin n x 0 0 1 (n_integrable _ _)). intro H.
  replace (x * 0 + 0) with 0 in H by ring. replace (x * 1 + 0) with x in H by ring. rewrite <- H.
  apply RInt_ext. intros t _. unfold scal; simpl; unfold mult; simpl. f_equal. f_equal. ring.
Qed.

Lemma square_root_square : sqrt (2 * PI) * sqrt (2 * PI) = 2 * PI.
Proof. apply sqrt_sqrt. generalize PI_RGT_0. lra. Qed.

Lemma constant x : is_derive (fun y => half y * half y + / PI * J y) x 0.
Proof.
  evar_last.
  - apply (is_derive_plus (fun y => half y * half y) (fun y => / PI * J y)).
    + apply (is_derive_mult half half x (n x) (n x)); [apply half_derive | apply half_derive | intros; apply Rmult_comm].
    + apply is_derive_scal. apply J_derive.
  - unfold plus; simpl; unfold mult; simpl. rewrite (half_scaled x).
    assert (H : RInt (fun t => - x * exp (- (x * x * (1 + t * t) / 2))) 0 1 = - (2 * PI) * n x * RInt (fun t => x * n (x * t)) 0 1).
    { rewrite <- (scaled (fun t => x * n (x * t)) 0 1 (- (2 * PI) * n x)).
      - apply RInt_ext. intros t _. rewrite <- square_root_square. unfold n. simpl.
        replace (- (x * x * (1 + t * t) / 2)) with (- (x * x / 2) + - (x * t * (x * t) / 2)) by field.
        rewrite exp_plus. field. generalize root_positive. lra.
      - apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
        apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive. generalize root_positive; lra. }
    rewrite H. field. generalize PI_RGT_0. lra.
Qed.

Lemma everywhere x : 0 < x -> half x * half x + / PI * J x = 1 / 4.
Proof.
  intro P. transitivity (half 0 * half 0 + / PI * J 0).
  - symmetry. apply (eq_is_derive (fun y => half y * half y + / PI * J y) 0 x). intros t _. apply constant. exact P.
  - unfold half. rewrite RInt_point. unfold zero; simpl.
    assert (H : J 0 = PI / 4).
    { unfold J. rewrite <- atan_1. apply is_RInt_unique.
      replace (atan 1) with (minus (atan 1) (atan 0)) by (rewrite atan_0; unfold minus, plus, opp; simpl; ring).
      apply (is_RInt_derive (V := R_CompleteNormedModule) atan).
      - intros t _. unfold kernel. replace (exp (- (0 * 0 * (1 + t * t) / 2))) with 1.
        + generalize (is_derive_atan t). intro A. evar_last. exact A. unfold Rsqr; simpl. field. apply denominator.
        + rewrite <- exp_0. f_equal. field.
      - intros t _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold kernel. auto_derive. apply denominator. }
    rewrite H. field. generalize PI_RGT_0. lra.
Qed.

Lemma J_small x : 0 <= J x <= exp (- (x * x / 2)).
Proof.
  unfold J. split.
  - apply RInt_ge_0. lra. apply kernel_integrable. intros t _. unfold kernel.
    apply Rlt_le, Rdiv_lt_0_compat. apply exp_pos. assert (0 <= t * t) by nra. lra.
  - apply Rle_trans with (RInt (fun _ => exp (- (x * x / 2))) 0 1).
    + apply RInt_le. lra. apply kernel_integrable. apply ex_RInt_const. intros t _. unfold kernel.
      assert (T : 0 <= t * t) by nra.
      apply (Rmult_le_reg_r (1 + t * t)). lra. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rle_trans with (exp (- (x * x / 2))).
      * assert (X : 0 <= x * x) by nra. destruct (Rle_lt_or_eq_dec 0 (x * x * (t * t))) as [H | H]. nra.
        left. apply exp_increasing. nra. right. f_equal. nra.
      * generalize (exp_pos (- (x * x / 2))). nra.
    + right. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
Qed.

Lemma J_vanishes : is_lim_seq (fun k => J (INR (S k))) 0.
Proof.
  apply (is_lim_seq_le_le (fun _ => 0) _ (fun k => / INR (S k))).
  - intro k. assert (P : 0 < INR (S k)) by apply lt_0_INR, Nat.lt_0_succ.
    destruct (J_small (INR (S k))) as [A B]. split. exact A. apply Rle_trans with (1 := B).
    rewrite exp_Ropp. apply Rinv_le_contravar. exact P.
    generalize (exp_ineq1_le (INR (S k) * INR (S k) / 2)). nra.
  - apply is_lim_seq_const.
  - apply (is_lim_seq_incr_1 (fun k => / INR k)). 
    replace (Finite 0) with (Rbar_inv p_infty) by reflexivity. apply is_lim_seq_inv. apply is_lim_seq_INR. discriminate.
Qed.

(** Half of the mass is above 0. *)
Theorem tail_0 : tail 0 = 1 / 2.
Proof.
  assert (L : is_lim_seq (fun k => half (INR (S k))) (tail 0)).
  { apply (is_lim_seq_incr_1 (fun k => half (INR k))).
    apply (is_lim_seq_ext (fun k => RInt n 0 (0 + INR k))). intro k. unfold half. f_equal. ring. apply tail_limit. }
  assert (Q : is_lim_seq (fun k => half (INR (S k)) * half (INR (S k))) (1 / 4 - / PI * 0)).
  { apply (is_lim_seq_ext (fun k => 1 / 4 - / PI * J (INR (S k)))).
    - intro k. rewrite <- (everywhere (INR (S k))). ring. apply lt_0_INR, Nat.lt_0_succ.
    - apply is_lim_seq_minus'. apply is_lim_seq_const. apply (is_lim_seq_scal_l _ (/ PI) 0). apply J_vanishes. }
  generalize (is_lim_seq_unique _ _ Q) (is_lim_seq_unique _ _ (is_lim_seq_mult' _ _ _ _ L L)). intros -> E.
  injection E. intro H. generalize (tail_not_negative 0). intro T. nra.
Qed.

Lemma half_odd x : half (- x) = - half x.
Proof.
  unfold half. generalize (RInt_comp_lin n (- 1) 0 0 x (n_integrable _ _)). intro H.
  replace (- 1 * 0 + 0) with 0 in H by ring. replace (- 1 * x + 0) with (- x) in H by ring. rewrite <- H.
  replace (- RInt n 0 x) with (-1 * RInt n 0 x) by ring. rewrite <- scaled by apply n_integrable.
  apply RInt_ext. intros t _. unfold scal; simpl; unfold mult; simpl. f_equal. rewrite <- n_even. f_equal. ring.
Qed.

Theorem tail_is x : tail x = 1 / 2 - half x.
Proof. rewrite <- tail_0, (tail_split 0 x). unfold half. ring. Qed.

Theorem tail_reflected x : tail (- x) = 1 - tail x.
Proof. rewrite !tail_is, half_odd. field. Qed.

(** The whole mass. *)
Theorem mass : is_lim (fun b => RInt n (- b) b) p_infty 1.
Proof.
  apply (is_lim_ext (fun b => 2 * RInt n 0 b)).
  - intro b. rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) n (- b) 0 b) by apply n_integrable.
    rewrite <- (opp_RInt_swap (V := R_CompleteNormedModule) n 0 (- b)) by apply n_integrable.
    change (RInt n 0 (- b)) with (half (- b)). rewrite half_odd. unfold half, plus, opp; simpl. ring.
  - evar_last. apply (is_lim_scal_l _ 2 p_infty (tail 0)). apply tail_is_lim. rewrite tail_0. simpl. f_equal. field.
Qed.

(** The complementary error function of the handbooks. *)
Theorem erfc_is x : erfc x = 1 - 2 / sqrt PI * RInt (fun t => exp (- (t * t))) 0 x.
Proof.
  unfold erfc. rewrite tail_is. unfold half.
  generalize (RInt_comp_lin n (sqrt 2) 0 0 x (n_integrable _ _)). intro H.
  replace (sqrt 2 * 0 + 0) with 0 in H by ring. replace (sqrt 2 * x + 0) with (sqrt 2 * x) in H by ring. rewrite <- H.
  assert (P : 0 < sqrt PI) by (apply sqrt_lt_R0; apply PI_RGT_0).
  assert (T : 0 < sqrt 2) by (apply sqrt_lt_R0; lra).
  rewrite (RInt_ext _ (fun t => / sqrt PI * exp (- (t * t)))).
  2: { intros t _. unfold scal; simpl; unfold mult; simpl. unfold n. rewrite Rplus_0_r.
       replace (sqrt 2 * t * (sqrt 2 * t) / 2) with (sqrt 2 * sqrt 2 * (t * t) / 2) by field.
       rewrite sqrt_mult, sqrt_sqrt by (generalize PI_RGT_0; lra).
       replace (2 * (t * t) / 2) with (t * t) by field. field. lra. }
  rewrite (scaled (fun t => exp (- (t * t)))). field. lra.
  apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive. trivial.
Qed.

Lemma erfc_0 : erfc 0 = 1.
Proof. unfold erfc. rewrite Rmult_0_r, tail_0. field. Qed.
