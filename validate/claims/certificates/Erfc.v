(* The complementary error function, from the upper tail of N(0, 1), with bounds that coq-interval can use. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Gaussian.
Open Scope R_scope.

Lemma n_derive x : is_derive n x (- x * n x).
Proof.
  unfold n. auto_derive. generalize root_positive; lra.
  replace (- (x * x * / 2)) with (- (x * x / 2)) by field. field. generalize root_positive; lra.
Qed.

Lemma density_derive_continuous x : continuous (fun y => - y * n y) x.
Proof.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive. generalize root_positive; lra.
Qed.

Lemma tail_at_least x M : x <= M -> RInt n x M <= tail x.
Proof.
  intro HM. destruct (nfloor_ex (M - x)) as [k [_ Hk]]. lra.
  apply Rle_trans with (RInt n x (x + INR (S k))).
  - apply grows. exact HM. rewrite S_INR; lra.
  - apply (is_lim_seq_incr_compare _ _ (tail_limit x)). intro j. apply grows. generalize (pos_INR j); lra. rewrite S_INR; lra.
Qed.

(** The limit does not depend on how the end grows. *)
Lemma tail_is_lim x : is_lim (fun b => RInt n x b) p_infty (tail x).
Proof.
  apply is_lim_spec. intro eps.
  generalize (tail_limit x). intro H. apply is_lim_seq_spec in H. destruct (H eps) as [k Hk].
  exists (x + INR k). intros b Hb. specialize (Hk k (le_n k)).
  generalize (pos_INR k). intro.
  assert (RInt n x (x + INR k) <= RInt n x b) by (apply grows; lra).
  assert (RInt n x b <= tail x) by (apply tail_at_least; lra).
  apply Rabs_def2 in Hk. apply Rabs_def1; lra.
Qed.

Lemma tail_split x M : tail x = RInt n x M + tail M.
Proof.
  assert (L : is_lim (fun b => RInt n x b) p_infty (RInt n x M + tail M)).
  { apply (is_lim_ext (fun b => RInt n x M + RInt n M b)).
    - intro b. apply (RInt_Chasles (V := R_CompleteNormedModule) n x M b); apply n_integrable.
    - apply (is_lim_plus' _ _ _ _ _ (is_lim_const _ _) (tail_is_lim M)). }
  generalize (is_lim_unique _ _ _ L) (is_lim_unique _ _ _ (tail_is_lim x)). intros -> E. injection E. auto.
Qed.

Lemma tail_not_negative x : 0 <= tail x.
Proof. apply Rle_trans with (RInt n x x). rewrite RInt_point. unfold zero; simpl; lra. apply tail_at_least; lra. Qed.

Lemma tail_falls x y : x <= y -> tail y <= tail x.
Proof.
  intro H. rewrite (tail_split x y). assert (0 <= RInt n x y).
  { apply RInt_ge_0. exact H. apply n_integrable. intros; left; apply n_positive. } lra.
Qed.

(** Mills' upper bound. *)
Lemma mills M : 0 < M -> tail M <= n M / M.
Proof.
  intro HM.
  assert (H : forall k, RInt n M (M + INR k) <= n M / M).
  { intro k. generalize (pos_INR k). intro Hk.
    assert (I : is_RInt (fun x => / M * (x * n x)) M (M + INR k) (minus (- / M * n (M + INR k)) (- / M * n M))).
    { apply (is_RInt_derive (V := R_CompleteNormedModule) (fun x => - / M * n x)).
      - intros x _. replace (/ M * (x * n x)) with (- / M * (- x * n x)) by ring. apply is_derive_scal. apply n_derive.
      - intros x _. apply (continuous_ext (fun x => - / M * (- x * n x))). intro; simpl; ring.
        apply (continuous_scal_r (- / M) (fun x => - x * n x)). apply density_derive_continuous. }
    apply Rle_trans with (RInt (fun x => / M * (x * n x)) M (M + INR k)).
    - apply RInt_le. lra. apply n_integrable. eexists. exact I.
      intros x Hx. generalize (n_positive x). intro Hn.
      apply (Rmult_le_reg_l M); [exact HM|]. replace (M * (/ M * (x * n x))) with (x * n x) by (field; lra). nra.
    - rewrite (is_RInt_unique _ _ _ _ I). unfold minus, plus, opp; simpl.
      assert (0 < / M * n (M + INR k)) by (apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat; lra | apply n_positive]).
      unfold Rdiv. lra. }
  exact (is_lim_seq_le _ _ (tail M) (n M / M) H (tail_limit M) (is_lim_seq_const _)).
Qed.

Definition decay (y s : R) : R := exp (- (s * (s / 2 + y))).

Lemma density_factor y s : n (s + y) = n y * decay y s.
Proof.
  unfold n, decay. replace (- ((s + y) * (s + y) / 2)) with (- (y * y / 2) + - (s * (s / 2 + y))) by field.
  rewrite exp_plus. field. generalize root_positive. lra.
Qed.

Lemma decay_integrable y a b : ex_RInt (decay y) a b.
Proof.
  apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold decay. auto_derive. exact I.
Qed.

Lemma tail_factor y L : RInt n y (y + L) = n y * RInt (decay y) 0 L.
Proof.
  replace y with (0 - - y) at 1 by ring. replace (y + L) with (L - - y) by ring.
  rewrite <- shift, <- scaled by apply decay_integrable.
  apply RInt_ext. intros s _. simpl. rewrite <- density_factor. f_equal. ring.
Qed.

(** The tail is the density times an integral that is neither huge nor tiny: with so many digits of the one comes the other. *)
Lemma tail_bounds y L lo hi : 0 <= L -> 0 < y + L ->
  lo <= RInt (fun s => exp (- (s * (s / 2 + y)))) 0 L ->
  RInt (fun s => exp (- (s * (s / 2 + y)))) 0 L + exp (- (L * (L / 2 + y))) / (y + L) <= hi ->
  n y * lo <= tail y <= n y * hi.
Proof.
  change (fun s => exp (- (s * (s / 2 + y)))) with (decay y). intros HL HM Hlo Hhi.
  rewrite (tail_split y (y + L)), tail_factor. generalize (n_positive y) (tail_not_negative (y + L)) (mills _ HM).
  intros N T M. replace (y + L) with (L + y) in M at 2 by ring. rewrite density_factor in M.
  unfold decay in M at 1. split. nra.
  apply Rle_trans with (n y * (RInt (decay y) 0 L + exp (- (L * (L / 2 + y))) / (y + L))).
  - unfold Rdiv in *. lra.
  - apply Rmult_le_compat_l; lra.
Qed.

Lemma tail_scaled y L lo hi : 0 <= L -> 0 < y + L ->
  lo <= RInt (fun s => exp (- (s * (s / 2 + y)))) 0 L ->
  RInt (fun s => exp (- (s * (s / 2 + y)))) 0 L + exp (- (L * (L / 2 + y))) / (y + L) <= hi ->
  exists k, lo <= k <= hi /\ tail y = k * n y.
Proof.
  intros HL HM Hlo Hhi. exists (tail y / n y). generalize (tail_bounds y L lo hi HL HM Hlo Hhi) (n_positive y). intros [A B] N.
  split; [|field; lra].
  split; apply (Rmult_le_reg_l (n y)); try exact N; replace (n y * (tail y / n y)) with (tail y) by (field; lra); assumption.
Qed.

(** The complementary error function; [Mass.erfc_is] says that this is the one of the handbooks. *)
Definition erfc (x : R) : R := 2 * tail (sqrt 2 * x).

Lemma erfc_bounds x y L lo hi : y = sqrt 2 * x -> 0 <= L -> 0 < y + L ->
  lo <= RInt (fun s => exp (- (s * (s / 2 + y)))) 0 L ->
  RInt (fun s => exp (- (s * (s / 2 + y)))) 0 L + exp (- (L * (L / 2 + y))) / (y + L) <= hi ->
  exists k, lo <= k <= hi /\ erfc x = k * (2 / sqrt (2 * PI) * exp (- (y * y / 2))).
Proof.
  intros E HL HM Hlo Hhi. destruct (tail_scaled y L lo hi HL HM Hlo Hhi) as [k [K H]]. exists k. split. exact K.
  unfold erfc. rewrite <- E, H. unfold n. field. generalize root_positive. lra.
Qed.

Lemma erfc_falls x y : x <= y -> erfc y <= erfc x.
Proof.
  intro H. unfold erfc. apply Rmult_le_compat_l; [lra|]. apply tail_falls. apply Rmult_le_compat_l. apply sqrt_pos. exact H.
Qed.

(* erfc x, at a number x, is a density times a number that is enclosed by the integral up to L and by what Mills leaves of it. *)
Ltac enclosed x L bounded :=
  let y := fresh "y" in let Y := fresh "Y" in let E := fresh "E" in let J := fresh "J" in let T := fresh "T" in
  let k := fresh "k" in let K := fresh "K" in
  interval_intro (sqrt 2 * x) with (i_prec 128) as Y;
  remember (sqrt 2 * x) as y eqn:E in Y;
  bounded y J;
  interval_intro (exp (- (L * (L / 2 + y))) / (y + L)) upper with (i_prec 90) as T;
  destruct (erfc_bounds x y L _ _ E ltac:(lra) ltac:(interval) (proj1 J) (Rplus_le_compat _ _ _ _ (proj2 J) T)) as [k [K ->]];
  clear E J T.

Ltac scaled x L := enclosed x L ltac:(fun y J =>
  integral_intro (RInt (V := R_CompleteNormedModule) (fun s => exp (- (s * (s / 2 + y)))) 0 L) with (i_relwidth 40, i_fuel 1000) as J).

(* The same to 64 binary digits. *)
Ltac scaled_fine x L := enclosed x L ltac:(fun y J =>
  integral_intro (RInt (V := R_CompleteNormedModule) (fun s => exp (- (s * (s / 2 + y)))) 0 L)
    with (i_relwidth 64, i_prec 90, i_degree 20, i_fuel 1000) as J).
