From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(** The density of N(0, 1); that of N(mu, 1) is [fun x => n (x - mu)]. *)
Definition n (x : R) : R := exp (- (x * x / 2)) / sqrt (2 * PI).

(** A test may tell the two laws apart with probability [phi x] at x. *)
Definition test (f g phi : R -> R) : Prop :=
  (forall x, 0 <= phi x <= 1) /\
  (forall a b, ex_RInt (fun x => phi x * f x) a b) /\
  (forall a b, ex_RInt (fun x => phi x * g x) a b).

(** (epsilon, delta)-indistinguishability of f from g, one order: no test on any bounded interval gains more than delta. *)
Definition below (f g : R -> R) (eps delta : R) : Prop :=
  forall phi A B, test f g phi -> A <= B ->
  RInt (fun x => phi x * f x) A B - exp eps * RInt (fun x => phi x * g x) A B <= delta.

Lemma root_positive : 0 < sqrt (2 * PI).
Proof. apply sqrt_lt_R0. generalize PI_RGT_0. lra. Qed.

Lemma n_positive x : 0 < n x.
Proof. unfold n. apply Rdiv_lt_0_compat. apply exp_pos. apply root_positive. Qed.

Lemma n_even x : n (- x) = n x.
Proof. unfold n. f_equal. f_equal. lra. Qed.

Lemma n_continuous x : continuous n x.
Proof.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)).
  unfold n. auto_derive. generalize root_positive. lra.
Qed.

Lemma shifted_continuous mu x : continuous (fun y => n (y - mu)) x.
Proof.
  apply (continuous_comp (fun y => y - mu) n).
  - apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive. exact I.
  - apply n_continuous.
Qed.

Lemma n_integrable a b : ex_RInt n a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply n_continuous. Qed.

Lemma shifted_integrable mu a b : ex_RInt (fun x => n (x - mu)) a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply shifted_continuous. Qed.

Lemma shift mu a b : RInt (fun x => n (x - mu)) a b = RInt n (a - mu) (b - mu).
Proof.
  generalize (RInt_comp_lin n 1 (- mu) a b (n_integrable _ _)). intro H.
  replace (a - mu) with (1 * a + - mu) by ring. replace (b - mu) with (1 * b + - mu) by ring.
  rewrite <- H. apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl.
  rewrite Rmult_1_l. f_equal. ring.
Qed.

(** The likelihood ratio. *)
Lemma ratio mu x : n (x - mu) = n x * exp (mu * x - mu * mu / 2).
Proof.
  unfold n. replace (exp (- (x * x / 2)) / sqrt (2 * PI) * exp (mu * x - mu * mu / 2))
    with (exp (- (x * x / 2)) * exp (mu * x - mu * mu / 2) / sqrt (2 * PI)) by (field; generalize root_positive; lra).
  rewrite <- exp_plus. f_equal. f_equal. field.
Qed.

Lemma gains mu eps x : 0 < mu -> eps / mu + mu / 2 <= x -> exp eps * n x <= n (x - mu).
Proof.
  intros Hmu Hx. rewrite ratio. rewrite Rmult_comm. apply Rmult_le_compat_l. left; apply n_positive.
  assert (eps <= mu * x - mu * mu / 2).
  { apply (Rmult_le_compat_l mu) in Hx; [|lra]. replace (mu * (eps / mu + mu / 2)) with (eps + mu * mu / 2) in Hx by (field; lra). lra. }
  destruct H as [H|H]; [left; apply exp_increasing; exact H | right; rewrite H; reflexivity].
Qed.

Lemma loses mu eps x : 0 < mu -> x <= eps / mu + mu / 2 -> n (x - mu) <= exp eps * n x.
Proof.
  intros Hmu Hx. rewrite ratio. rewrite (Rmult_comm (exp eps)). apply Rmult_le_compat_l. left; apply n_positive.
  assert (mu * x - mu * mu / 2 <= eps).
  { apply (Rmult_le_compat_l mu) in Hx; [|lra]. replace (mu * (eps / mu + mu / 2)) with (eps + mu * mu / 2) in Hx by (field; lra). lra. }
  destruct H as [H|H]; [left; apply exp_increasing; exact H | right; rewrite H; reflexivity].
Qed.

(** The upper tail of N(0, 1), as the limit of integrals over bounded intervals. *)
Definition tail (x : R) : R := real (Lim_seq (fun k => RInt n x (x + INR k))).

Lemma beyond M k : 1 <= M -> RInt n M (M + INR k) <= 2 / M * exp (- (M * M / 2)).
Proof.
  intro HM. generalize (pos_INR k). intro Hk.
  apply Rle_trans with (RInt (fun x => exp (- (M * x / 2))) M (M + INR k)).
  - apply RInt_le. lra. apply n_integrable.
    apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros.
    apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive. exact I.
    intros x Hx. unfold n. apply Rle_trans with (exp (- (x * x / 2))).
    + apply (Rmult_le_reg_r (sqrt (2 * PI))). apply root_positive.
      unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l; [|generalize root_positive; lra].
      apply Rmult_le_compat_l. left; apply exp_pos.
      rewrite <- sqrt_1. apply sqrt_le_1_alt. generalize PI2_1. lra.
    + assert (M * x <= x * x) by nra.
      destruct (Req_dec (M * x) (x * x)) as [E|E]. rewrite E; lra.
      left. apply exp_increasing. lra.
  - assert (H : is_RInt (fun x => exp (- (M * x / 2))) M (M + INR k)
                (minus (- (2 / M) * exp (- (M * (M + INR k) / 2))) (- (2 / M) * exp (- (M * M / 2))))).
    { apply (is_RInt_derive (V := R_CompleteNormedModule) (fun x => - (2 / M) * exp (- (M * x / 2)))).
      - intros x _. auto_derive. exact I. change (M * x * / 2) with (M * x / 2). field. lra.
      - intros x _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive. exact I. }
    rewrite (is_RInt_unique _ _ _ _ H). unfold minus, plus, opp; simpl.
    assert (0 < 2 / M * exp (- (M * (M + INR k) / 2))).
    { apply Rmult_lt_0_compat. apply Rdiv_lt_0_compat; lra. apply exp_pos. }
    lra.
Qed.

Lemma grows a b c : a <= b -> b <= c -> RInt n a b <= RInt n a c.
Proof.
  intros Hab Hbc. rewrite <- (RInt_Chasles n a b c); try apply n_integrable.
  unfold plus; simpl. assert (0 <= RInt n b c).
  { apply RInt_ge_0. exact Hbc. apply n_integrable. intros; left; apply n_positive. }
  lra.
Qed.

Lemma tail_limit x : is_lim_seq (fun k => RInt n x (x + INR k)) (tail x).
Proof.
  assert (H : ex_finite_lim_seq (fun k => RInt n x (x + INR k))).
  { set (M := Rmax x 1).
    apply (ex_finite_lim_seq_incr _ (RInt n x M + 2 / M * exp (- (M * M / 2)))).
    - intro k. apply grows. generalize (pos_INR k); lra. rewrite S_INR; lra.
    - intro k. apply Rle_trans with (RInt n x (M + INR k)).
      + apply grows. generalize (pos_INR k); lra. generalize (Rmax_l x 1); unfold M; lra.
      + rewrite <- (RInt_Chasles n x M (M + INR k)); try apply n_integrable.
        unfold plus; simpl. apply Rplus_le_compat_l. apply beyond. apply Rmax_r. }
  unfold tail. apply Lim_seq_correct' in H. exact H.
Qed.

Lemma scaled f a b c : ex_RInt f a b -> RInt (fun x => c * f x) a b = c * RInt f a b.
Proof. intro H. exact (RInt_scal (V := R_CompleteNormedModule) f a b c H). Qed.

Lemma difference f g a b : ex_RInt f a b -> ex_RInt g a b -> RInt (fun x => f x - g x) a b = RInt f a b - RInt g a b.
Proof. intros Hf Hg. exact (RInt_minus (V := R_CompleteNormedModule) f g a b Hf Hg). Qed.

(** What a device that is there gains over one that is not, on the half line where the ratio exceeds exp eps. *)
Definition excess mu eps x := n (x - mu) - exp eps * n x.

Lemma excess_continuous mu eps x : continuous (excess mu eps) x.
Proof.
  unfold excess. apply (continuous_minus (fun y => n (y - mu)) (fun y => exp eps * n y)).
  apply shifted_continuous. apply (continuous_scal_r (exp eps) n). apply n_continuous.
Qed.

Lemma excess_integrable mu eps a b : ex_RInt (excess mu eps) a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply excess_continuous. Qed.

Lemma excess_integral mu eps a b :
  RInt (excess mu eps) a b = RInt n (a - mu) (b - mu) - exp eps * RInt n a b.
Proof.
  unfold excess. rewrite <- shift, <- (scaled n a b (exp eps)) by apply n_integrable.
  apply (difference (fun x => n (x - mu)) (fun x => exp eps * n x)).
  - apply shifted_integrable.
  - apply (ex_RInt_scal (V := R_NormedModule) n). apply n_integrable.
Qed.

Definition delta mu eps := tail (eps / mu - mu / 2) - exp eps * tail (eps / mu + mu / 2).

Section Exact.
Variables mu eps : R.
Hypothesis positive : 0 < mu.
Let t := eps / mu + mu / 2.

Lemma reached : is_lim_seq (fun k => RInt (excess mu eps) t (t + INR k)) (delta mu eps).
Proof.
  apply (is_lim_seq_ext (fun k => RInt n (eps / mu - mu / 2) (eps / mu - mu / 2 + INR k) - exp eps * RInt n t (t + INR k))).
  - intro k. rewrite excess_integral. unfold t. f_equal. f_equal; lra.
  - apply is_lim_seq_minus'. apply tail_limit.
    apply (is_lim_seq_scal_l _ (exp eps) (tail t)). apply tail_limit.
Qed.

Lemma increasing : forall k, RInt (excess mu eps) t (t + INR k) <= RInt (excess mu eps) t (t + INR (S k)).
Proof.
  intro k. rewrite <- (RInt_Chasles (excess mu eps) t (t + INR k) (t + INR (S k))); try apply excess_integrable.
  unfold plus; simpl. assert (0 <= RInt (excess mu eps) (t + INR k) (t + INR (S k))).
  { apply RInt_ge_0. rewrite S_INR; lra. apply excess_integrable.
    intros x Hx. unfold excess. generalize (pos_INR k). intro.
    assert (exp eps * n x <= n (x - mu)) by (apply gains; [exact positive | unfold t in *; lra]). lra. }
  simpl in H. lra.
Qed.

Lemma at_most B : t <= B -> RInt (excess mu eps) t B <= delta mu eps.
Proof.
  intro HB. destruct (nfloor_ex (B - t)) as [k [_ Hk]]. lra.
  apply Rle_trans with (RInt (excess mu eps) t (t + INR (S k))).
  - rewrite <- (RInt_Chasles (excess mu eps) t B (t + INR (S k))); try apply excess_integrable.
    unfold plus; simpl. assert (0 <= RInt (excess mu eps) B (t + INR (S k))).
    { apply RInt_ge_0. rewrite S_INR; lra. apply excess_integrable. intros x Hx. unfold excess.
      assert (exp eps * n x <= n (x - mu)) by (apply gains; [exact positive | unfold t in *; lra]). lra. }
    simpl in H. lra.
  - apply (is_lim_seq_incr_compare _ _ reached increasing).
Qed.

(** Neyman and Pearson: no test gains more than delta ... *)
Theorem upper : below (fun x => n (x - mu)) n eps (delta mu eps).
Proof.
  intros phi A B [Hphi [If Ig]] HAB.
  set (h := fun x => phi x * n (x - mu) - exp eps * (phi x * n x)).
  assert (Eh : RInt (fun x => phi x * n (x - mu)) A B - exp eps * RInt (fun x => phi x * n x) A B = RInt h A B).
  { unfold h. rewrite <- (scaled (fun x => phi x * n x) A B (exp eps)) by apply Ig. symmetry.
    apply (difference (fun x => phi x * n (x - mu)) (fun x => exp eps * (phi x * n x))).
    - apply If.
    - apply (ex_RInt_scal (V := R_NormedModule) (fun x => phi x * n x)). apply Ig. }
  rewrite Eh. clear Eh.
  assert (Ih : forall a b, ex_RInt h a b).
  { intros. apply (ex_RInt_minus (V := R_NormedModule) (fun x => phi x * n (x - mu)) (fun x => exp eps * (phi x * n x))).
    apply If. apply (ex_RInt_scal (V := R_NormedModule) (fun x => phi x * n x)). apply Ig. }
  assert (Hh : forall x, h x = phi x * excess mu eps x) by (intro; unfold h, excess; ring).
  assert (D0 : 0 <= delta mu eps).
  { apply Rle_trans with (RInt (excess mu eps) t t). rewrite RInt_point. unfold zero; simpl; lra. apply at_most; lra. }
  assert (Left : forall a b, a <= b -> b <= t -> RInt h a b <= 0).
  { intros a b Hab Hb. replace 0 with (RInt (fun _ => 0) a b).
    - apply RInt_le; try easy. apply ex_RInt_const. intros x Hx. rewrite Hh. unfold excess.
      assert (n (x - mu) <= exp eps * n x) by (apply loses; [exact positive | unfold t in *; lra]).
      generalize (Hphi x). intro. nra.
    - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring. }
  assert (Right : forall a b, t <= a -> a <= b -> RInt h a b <= delta mu eps).
  { intros a b Ha Hab. apply Rle_trans with (RInt (excess mu eps) a b).
    - apply RInt_le; try easy. apply excess_integrable. intros x Hx. rewrite Hh. unfold excess.
      assert (exp eps * n x <= n (x - mu)) by (apply gains; [exact positive | unfold t in *; lra]).
      generalize (Hphi x). intro. nra.
    - apply Rle_trans with (RInt (excess mu eps) t b); [|apply at_most; lra].
      rewrite <- (RInt_Chasles (excess mu eps) t a b); try apply excess_integrable.
      unfold plus; simpl. assert (0 <= RInt (excess mu eps) t a).
      { apply RInt_ge_0; try easy. apply excess_integrable. intros x Hx. unfold excess.
        assert (exp eps * n x <= n (x - mu)) by (apply gains; [exact positive | unfold t in *; lra]). lra. }
      lra. }
  destruct (Rle_dec B t) as [HB|HB]. apply Rle_trans with 0; [apply Left; lra | exact D0].
  destruct (Rle_dec t A) as [HA|HA]. apply Right; lra.
  rewrite <- (RInt_Chasles h A t B); try apply Ih. unfold plus; simpl.
  generalize (Left A t ltac:(lra) ltac:(lra)) (Right t B ltac:(lra) ltac:(lra)). lra.
Qed.

(** ... and nothing less is enough. *)
Theorem exact_curve d : below (fun x => n (x - mu)) n eps d <-> delta mu eps <= d.
Proof.
  split.
  - intro H.
    assert (Hk : forall k, RInt (excess mu eps) t (t + INR k) <= d).
    { intro k. specialize (H (fun _ => 1) t (t + INR k)).
      assert (T : test (fun x => n (x - mu)) n (fun _ => 1)).
      { split; [intro; lra|]. split; intros a b.
        - apply (ex_RInt_ext (fun x => n (x - mu))). intros; symmetry; apply Rmult_1_l. apply shifted_integrable.
        - apply (ex_RInt_ext n). intros; symmetry; apply Rmult_1_l. apply n_integrable. }
      specialize (H T ltac:(generalize (pos_INR k); lra)).
      rewrite excess_integral, <- shift.
      rewrite (RInt_ext (fun x => 1 * n (x - mu)) (fun x => n (x - mu))) in H by (intros; apply Rmult_1_l).
      rewrite (RInt_ext (fun x => 1 * n x) n) in H by (intros; apply Rmult_1_l). exact H. }
    apply (is_lim_seq_le _ _ (delta mu eps) d Hk reached (is_lim_seq_const d)).
  - intro H. intros phi A B Ht HAB. apply Rle_trans with (delta mu eps); [|exact H]. apply upper; assumption.
Qed.
End Exact.

(** A reflection changes no indistinguishability. *)
Lemma reflected_integral (F : R -> R) c a b :
  ex_RInt F (c - b) (c - a) -> RInt (fun x => F (c - x)) a b = RInt F (c - b) (c - a).
Proof.
  intro IF. apply is_RInt_unique.
  assert (H : is_RInt F (- 1 * b + c) (- 1 * a + c) (RInt F (c - b) (c - a))).
  { replace (- 1 * b + c) with (c - b) by ring. replace (- 1 * a + c) with (c - a) by ring.
    apply (RInt_correct (V := R_CompleteNormedModule)). exact IF. }
  apply (is_RInt_swap (V := R_NormedModule)) in H.
  apply (is_RInt_comp_lin (V := R_NormedModule) F (- 1) c a b) in H.
  apply (is_RInt_opp (V := R_NormedModule)) in H.
  rewrite opp_opp in H.
  refine (is_RInt_ext _ _ _ _ _ _ H). intros x _. unfold opp, scal; simpl. unfold mult; simpl.
  replace (c - x) with (- 1 * x + c) by ring. ring.
Qed.

Lemma reflected_integrable (F : R -> R) c a b : ex_RInt F (c - b) (c - a) -> ex_RInt (fun x => F (c - x)) a b.
Proof.
  intro IF.
  assert (H : ex_RInt F (- 1 * a + c) (- 1 * b + c)).
  { replace (- 1 * b + c) with (c - b) by ring. replace (- 1 * a + c) with (c - a) by ring. apply ex_RInt_swap. exact IF. }
  apply (ex_RInt_comp_lin (V := R_NormedModule) F (- 1) c a b) in H.
  apply (ex_RInt_opp (V := R_NormedModule)) in H.
  refine (ex_RInt_ext _ _ _ _ _ H). intros x _. unfold opp, scal; simpl. unfold mult; simpl.
  replace (c - x) with (- 1 * x + c) by ring. ring.
Qed.

Lemma reflected (f g : R -> R) c eps d : below f g eps d -> below (fun x => f (c - x)) (fun x => g (c - x)) eps d.
Proof.
  intros H phi A B [Hphi [If Ig]] HAB.
  assert (K : forall F : R -> R, (forall a b, ex_RInt (fun x => phi x * F (c - x)) a b) ->
            (forall a b, ex_RInt (fun x => phi (c - x) * F x) a b) /\
            RInt (fun x => phi x * F (c - x)) A B = RInt (fun x => phi (c - x) * F x) (c - B) (c - A)).
  { intros F IF.
    assert (E : forall a b, ex_RInt (fun x => phi (c - x) * F x) a b).
    { intros a b. apply (ex_RInt_ext (fun x => (fun y => phi y * F (c - y)) (c - x))).
      - intros x _. simpl. f_equal. f_equal. ring.
      - apply (reflected_integrable (fun y => phi y * F (c - y))). apply IF. }
    split. exact E.
    rewrite <- (reflected_integral (fun x => phi (c - x) * F x) c A B) by apply E.
    apply RInt_ext. intros x _. f_equal. f_equal. ring. }
  destruct (K f If) as [Jf Ef]. destruct (K g Ig) as [Jg Eg]. rewrite Ef, Eg.
  apply H; [|lra]. split. intro x; apply Hphi. split; assumption.
Qed.

Lemma same (f g f' g' : R -> R) eps d :
  (forall x, f x = f' x) -> (forall x, g x = g' x) -> below f g eps d -> below f' g' eps d.
Proof.
  intros Hf Hg H phi A B [Hphi [If Ig]] HAB.
  rewrite <- (RInt_ext (fun x => phi x * f x) (fun x => phi x * f' x)) by (intros; rewrite Hf; reflexivity).
  rewrite <- (RInt_ext (fun x => phi x * g x) (fun x => phi x * g' x)) by (intros; rewrite Hg; reflexivity).
  apply H; [|exact HAB]. split; [exact Hphi|]. split; intros a b.
  - apply (ex_RInt_ext (fun x => phi x * f' x)). intros; rewrite Hf; reflexivity. apply If.
  - apply (ex_RInt_ext (fun x => phi x * g' x)). intros; rewrite Hg; reflexivity. apply Ig.
Qed.

(** The other order has the same curve. *)
Theorem exact_curve_reversed mu eps d : 0 < mu -> (below n (fun x => n (x - mu)) eps d <-> delta mu eps <= d).
Proof.
  intro Hmu. rewrite <- (exact_curve mu eps Hmu).
  split; intro H; apply (reflected _ _ mu) in H; revert H; apply same; intro x; simpl.
  - rewrite <- (n_even (mu - x)). f_equal. ring.
  - rewrite <- (n_even (mu - x - mu)). f_equal. ring.
  - rewrite <- (n_even (mu - x - mu)). f_equal. ring.
  - rewrite <- (n_even (mu - x)). f_equal. ring.
Qed.

(** A shift by c and a change of scale by s change nothing. *)
Lemma stretched (f g : R -> R) s c eps d :
  0 < s -> below f g eps d -> below (fun y => f ((y - c) / s) / s) (fun y => g ((y - c) / s) / s) eps d.
Proof.
  intros Hs H phi A B [Hphi [If Ig]] HAB.
  assert (K : forall F : R -> R, (forall a b, ex_RInt (fun y => phi y * (F ((y - c) / s) / s)) a b) ->
            (forall a b, ex_RInt (fun x => phi (s * x + c) * F x) a b) /\
            RInt (fun y => phi y * (F ((y - c) / s) / s)) A B = RInt (fun x => phi (s * x + c) * F x) ((A - c) / s) ((B - c) / s)).
  { intros F IF.
    assert (E : forall a b, ex_RInt (fun x => phi (s * x + c) * F x) a b).
    { intros a b. refine (ex_RInt_ext _ _ _ _ _ (ex_RInt_comp_lin (V := R_NormedModule) _ s c a b (IF (s * a + c) (s * b + c)))).
      intros x _. unfold scal; simpl; unfold mult; simpl.
      replace ((s * x + c - c) / s) with x by (field; lra). field. lra. }
    split. exact E.
    assert (I : is_RInt (fun x => phi (s * x + c) * F x) (/ s * A + - c / s) (/ s * B + - c / s)
                  (RInt (fun x => phi (s * x + c) * F x) ((A - c) / s) ((B - c) / s))).
    { replace (/ s * A + - c / s) with ((A - c) / s) by (field; lra). replace (/ s * B + - c / s) with ((B - c) / s) by (field; lra).
      apply (RInt_correct (V := R_CompleteNormedModule)). apply E. }
    apply (is_RInt_comp_lin (V := R_NormedModule)) in I. apply is_RInt_unique.
    refine (is_RInt_ext _ _ _ _ _ _ I). intros y _. unfold scal; simpl; unfold mult; simpl.
    replace (/ s * y + - c / s) with ((y - c) / s) by (field; lra).
    replace (s * ((y - c) / s) + c) with y by (field; lra). field. lra. }
  destruct (K f If) as [Jf Ef]. destruct (K g Ig) as [Jg Eg]. rewrite Ef, Eg.
  apply H.
  - split. intro x; apply Hphi. split; assumption.
  - apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; exact Hs. lra.
Qed.

(** The density of N(m, s^2). *)
Definition normal (m s y : R) : R := n ((y - m) / s) / s.

(** Two normal laws of the same variance, at a distance D > 0: either order has the curve of D / s. *)
Theorem normals m D s eps d : 0 < s -> 0 < D ->
  (below (normal (m + D) s) (normal m s) eps d <-> delta (D / s) eps <= d) /\
  (below (normal m s) (normal (m + D) s) eps d <-> delta (D / s) eps <= d).
Proof.
  intros Hs HD. assert (P : 0 < D / s) by (apply Rdiv_lt_0_compat; assumption).
  rewrite <- (exact_curve_reversed (D / s) eps d P) at 2. rewrite <- (exact_curve (D / s) eps P d).
  assert (Q : 0 < / s) by (apply Rinv_0_lt_compat; exact Hs).
  split; split; intro H.
  - apply (stretched _ _ (/ s) (- m / s)) in H; [|exact Q]. revert H. apply same; intro x; unfold normal.
    + replace (((x - - m / s) / / s - (m + D)) / s) with (x - D / s) by (field; lra). field. lra.
    + replace (((x - - m / s) / / s - m) / s) with x by (field; lra). field. lra.
  - apply (stretched _ _ s m) in H; [|exact Hs]. revert H. apply same; intro x; unfold normal; [|reflexivity].
    replace ((x - m) / s - D / s) with ((x - (m + D)) / s) by (field; lra). reflexivity.
  - apply (stretched _ _ (/ s) (- m / s)) in H; [|exact Q]. revert H. apply same; intro x; unfold normal.
    + replace (((x - - m / s) / / s - m) / s) with x by (field; lra). field. lra.
    + replace (((x - - m / s) / / s - (m + D)) / s) with (x - D / s) by (field; lra). field. lra.
  - apply (stretched _ _ s m) in H; [|exact Hs]. revert H. apply same; intro x; unfold normal; [reflexivity|].
    replace ((x - m) / s - D / s) with ((x - (m + D)) / s) by (field; lra). reflexivity.
Qed.
