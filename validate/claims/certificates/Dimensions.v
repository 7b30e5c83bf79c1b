(* The Gaussian mechanism in several dimensions: what it gives away depends on the distance of the means alone. *)

From Coq Require Import Reals Lra Psatz List.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Rows Gaussian Erfc Mass Vector.
Import ListNotations.
Open Scope R_scope.

Lemma delta_not_negative mu eps : 0 < mu -> 0 <= delta mu eps.
Proof.
  intro H. apply Rle_trans with (RInt (excess mu eps) (eps / mu + mu / 2) (eps / mu + mu / 2)).
  rewrite RInt_point. unfold zero; simpl; lra. apply at_most; lra.
Qed.

(* The test that always says yes. *)
Lemma delta_floor mu eps : 0 < mu -> 1 - exp eps <= delta mu eps.
Proof.
  intro H. apply (is_lim_le_loc (fun B => 1 - 2 * tail (B - Rabs mu) - exp eps) (fun _ => delta mu eps) p_infty
                   (1 - exp eps) (delta mu eps)).
  - exists 0. intros B HB.
    generalize (upper mu eps H (fun _ => 1) (- B) B). intro U.
    assert (T : test (fun x => n (x - mu)) n (fun _ => 1)).
    { split; [intro; lra|]. split; intros a b.
      - apply (ex_RInt_ext (fun x => n (x - mu))). intros; symmetry; apply Rmult_1_l. apply shifted_integrable.
      - apply (ex_RInt_ext n). intros; symmetry; apply Rmult_1_l. apply n_integrable. }
    specialize (U T ltac:(lra)).
    rewrite (RInt_ext (fun x => 1 * n (x - mu)) (fun x => n (x - mu))) in U by (intros; apply Rmult_1_l).
    rewrite (RInt_ext (fun x => 1 * n x) n) in U by (intros; apply Rmult_1_l). rewrite shift in U.
    generalize (left_over (- mu) B) (left_over 0 B). rewrite Rabs_Ropp.
    replace (- mu - B) with (- B - mu) by ring. replace (- mu + B) with (B - mu) by ring.
    replace (0 - B) with (- B) by ring. replace (0 + B) with B by ring. intros L1 L2.
    generalize (exp_pos eps). intro E.
    assert (exp eps * RInt n (- B) B <= exp eps * 1) by (apply Rmult_le_compat_l; lra). lra.
  - replace (Finite (1 - exp eps)) with (Finite (1 - 2 * 0 - exp eps)) by (f_equal; ring).
    apply is_lim_minus'; [|apply is_lim_const]. apply is_lim_minus'; [apply is_lim_const|].
    apply (is_lim_scal_l _ 2 p_infty 0). apply tail_vanishes.
  - apply is_lim_const.
Qed.

Lemma delta_continuous mu eps : 0 < mu -> continuous (fun m => delta m eps) mu.
Proof.
  intro H. unfold delta.
  assert (C : forall c, continuous (fun m => tail (eps / m + c * m)) mu).
  { intro c. apply (continuous_comp (fun m => eps / m + c * m) tail); [|apply tail_continuous].
    apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive. lra. }
  apply (continuous_minus (fun m => tail (eps / m - m / 2)) (fun m => exp eps * tail (eps / m + m / 2))).
  - apply (continuous_ext (fun m => tail (eps / m + - / 2 * m))). intro m. f_equal. unfold Rdiv. ring. apply C.
  - apply (continuous_scal_r (exp eps) (fun m => tail (eps / m + m / 2))).
    apply (continuous_ext (fun m => tail (eps / m + / 2 * m))). intro m. f_equal. unfold Rdiv. ring. apply C.
Qed.

Lemma exp_difference u v : exp (u - v) = exp u / exp v.
Proof. unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. Qed.

(* A coordinate that moves by a, and what is known of the others on average over it. *)
Section Mixture.
Variables a b eps : R.
Hypothesis positive : 0 < b.
Let c := sqrt (a * a + b * b).
Let mixed x := n (x - a) * delta b (eps - (a * x - a * a / 2)).

Lemma c_square : c * c = a * a + b * b.
Proof. apply sqrt_sqrt. nra. Qed.

Lemma c_positive : 0 < c.
Proof. apply sqrt_lt_R0. nra. Qed.

Lemma c_root : sqrt (1 + - (a / b) * - (a / b)) = c / b.
Proof.
  replace (1 + - (a / b) * - (a / b)) with ((a * a + b * b) / (b * b)) by (field; lra).
  rewrite sqrt_div by nra. rewrite (sqrt_square b) by lra. reflexivity.
Qed.

Lemma mixed_is x : mixed x = n (x - a) * tail (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2))
  - exp eps * (n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2))).
Proof.
  unfold mixed, delta.
  replace ((eps - (a * x - a * a / 2)) / b - b / 2) with (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2)) by (field; lra).
  replace ((eps - (a * x - a * a / 2)) / b + b / 2) with (- (a / b) * x + ((eps + a * a / 2) / b + b / 2)) by (field; lra).
  assert (K : n (x - a) * exp (eps - (a * x - a * a / 2)) = exp eps * n x).
  { rewrite exp_difference, ratio. field. generalize (exp_pos (a * x - a * a / 2)). lra. }
  rewrite Rmult_minus_distr_l, <- (Rmult_assoc (n (x - a)) (exp _)), K, Rmult_assoc. reflexivity.
Qed.

Lemma first_integrable A B : ex_RInt (fun x => n (x - a) * tail (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2))) A B.
Proof.
  apply (ex_RInt_ext (fun x => n (x - a) * tail (- (a / b) * x + (a / b * a + ((eps - a * a / 2) / b - b / 2))))).
  - intros x _. f_equal. f_equal. ring.
  - apply product_integrable.
Qed.

Lemma second_integrable A B : ex_RInt (fun x => exp eps * (n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2)))) A B.
Proof. apply (ex_RInt_scal (V := R_NormedModule)). apply product_0_integrable. Qed.

Lemma mixed_integrable A B : ex_RInt mixed A B.
Proof.
  apply (ex_RInt_ext (fun x => n (x - a) * tail (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2))
    - exp eps * (n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2))))).
  - intros x _. symmetry. apply mixed_is.
  - apply (ex_RInt_minus (V := R_NormedModule)). apply first_integrable. apply second_integrable.
Qed.

Lemma symmetric B : 0 <= B -> RInt mixed (- B) B
  <= tail (eps / c - c / 2) - exp eps * RInt (fun x => n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2))) (- B) B.
Proof.
  intro HB. rewrite (RInt_ext mixed (fun x => n (x - a) * tail (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2))
    - exp eps * (n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2))))) by (intros; apply mixed_is).
  rewrite (difference (fun x => n (x - a) * tail (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2)))
    (fun x => exp eps * (n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2))))) by (apply first_integrable || apply second_integrable).
  rewrite scaled by apply product_0_integrable. apply Rplus_le_compat_r.
  set (g := fun z => n z * tail (- (a / b) * z + ((eps - a * a / 2) / b - b / 2))).
  generalize (RInt_comp_lin g 1 (- a) (- B) B (product_0_integrable _ _ _ _)). intro S.
  assert (S' : RInt (fun x => n (x - a) * tail (- (a / b) * (x - a) + ((eps - a * a / 2) / b - b / 2))) (- B) B
    = RInt g (1 * - B + - a) (1 * B + - a)).
  { rewrite <- S. apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl. unfold g.
    replace (1 * x + - a) with (x - a) by ring. rewrite Rmult_1_l. reflexivity. }
  rewrite S'. generalize (tail_of_sum_at_most (- (a / b)) ((eps - a * a / 2) / b - b / 2) (1 * - B + - a) (1 * B + - a) ltac:(lra)).
  rewrite c_root. fold g.
  replace (((eps - a * a / 2) / b - b / 2) / (c / b)) with (eps / c - c / 2).
  - intro H; exact H.
  - generalize c_positive c_square. intros P Q. apply (Rmult_eq_reg_r (2 * c)); [|lra].
    replace ((eps / c - c / 2) * (2 * c)) with (2 * eps - c * c) by (field; lra).
    replace (((eps - a * a / 2) / b - b / 2) / (c / b) * (2 * c)) with (2 * eps - (a * a + b * b)) by (field; lra). rewrite Q. ring.
Qed.

Lemma mixture A B : A <= B -> RInt mixed A B <= delta c eps.
Proof.
  intro H. assert (P : forall x, 0 <= mixed x).
  { intro x. apply Rmult_le_pos. left; apply n_positive. apply delta_not_negative. exact positive. }
  apply (is_lim_le_loc (fun _ => RInt mixed A B)
    (fun M => tail (eps / c - c / 2) - exp eps * RInt (fun x => n x * tail (- (a / b) * x + ((eps + a * a / 2) / b + b / 2))) (- M) M)
    p_infty (RInt mixed A B) (delta c eps)).
  - exists (Rmax (Rabs A) (Rabs B)). intros M HM.
    generalize (Rmax_l (Rabs A) (Rabs B)) (Rmax_r (Rabs A) (Rabs B)) (Rle_abs B) (Rle_abs (- A)) (Rabs_pos A). rewrite Rabs_Ropp. intros.
    apply Rle_trans with (2 := symmetric M ltac:(lra)).
    rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) mixed (- M) A M) by apply mixed_integrable.
    rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) mixed A B M) by apply mixed_integrable.
    unfold plus; simpl.
    assert (0 <= RInt mixed (- M) A) by (apply RInt_ge_0; [lra | apply mixed_integrable | intros; apply P]).
    assert (0 <= RInt mixed B M) by (apply RInt_ge_0; [lra | apply mixed_integrable | intros; apply P]).
    lra.
  - apply is_lim_const.
  - unfold delta. apply is_lim_minus'. apply is_lim_const.
    apply (is_lim_scal_l _ (exp eps) p_infty (tail (eps / c + c / 2))).
    replace (eps / c + c / 2) with (((eps + a * a / 2) / b + b / 2) / sqrt (1 + - (a / b) * - (a / b))).
    + apply tail_of_sum.
    + rewrite c_root. generalize c_positive c_square. intros Pc Q. apply (Rmult_eq_reg_r (2 * c)); [|lra].
      replace ((eps / c + c / 2) * (2 * c)) with (2 * eps + c * c) by (field; lra).
      replace (((eps + a * a / 2) / b + b / 2) / (c / b) * (2 * c)) with (2 * eps + (a * a + b * b)) by (field; lra). rewrite Q. ring.
Qed.
End Mixture.

(** Integrals over cubes, one coordinate after the other. *)
Fixpoint box (d : nat) (f : list R -> R) (A B : R) : R :=
  match d with
  | O => f []
  | S k => RInt (fun x => box k (fun xs => f (x :: xs)) A B) A B
  end.

Fixpoint integrable (d : nat) (f : list R -> R) : Prop :=
  match d with
  | O => True
  | S k => (forall x, integrable k (fun xs => f (x :: xs))) /\ (forall A B, ex_RInt (fun x => box k (fun xs => f (x :: xs)) A B) A B)
  end.

(** As in one dimension: a test is a function into [0, 1] whose products with both densities have integrals over every cube. *)
Definition test_in d (f g phi : list R -> R) : Prop :=
  (forall xs, 0 <= phi xs <= 1) /\ integrable d (fun xs => phi xs * f xs) /\ integrable d (fun xs => phi xs * g xs).

Definition below_in d (f g : list R -> R) (eps delta : R) : Prop :=
  forall phi A B, test_in d f g phi -> A <= B ->
  box d (fun xs => phi xs * f xs) A B - exp eps * box d (fun xs => phi xs * g xs) A B <= delta.

(** Independent normal coordinates with these means and one standard deviation. *)
Fixpoint law (means : list R) (s : R) (xs : list R) : R :=
  match means, xs with
  | m :: ms, x :: xs => normal m s x * law ms s xs
  | _, _ => 1
  end.

Fixpoint moved (c v : list R) : list R :=
  match c, v with
  | x :: c, y :: v => x + y :: moved c v
  | _, _ => []
  end.

Fixpoint square (v : list R) : R := match v with [] => 0 | x :: v => x * x + square v end.

Lemma square_not_negative v : 0 <= square v.
Proof. induction v; simpl. lra. assert (0 <= a * a) by nra. lra. Qed.

Lemma box_same d : forall f g A B, (forall xs, f xs = g xs) -> box d f A B = box d g A B.
Proof. induction d; intros f g A B H; simpl. apply H. apply RInt_ext. intros x _. apply IHd. intro. apply H. Qed.

Lemma integrable_same d : forall f g, (forall xs, f xs = g xs) -> integrable d f -> integrable d g.
Proof.
  induction d; intros f g H; simpl. trivial. intros [I1 I2]. split.
  - intro x. apply (IHd (fun xs => f (x :: xs))). intro. apply H. apply I1.
  - intros A B. apply (ex_RInt_ext (fun x => box d (fun xs => f (x :: xs)) A B)); [|apply I2].
    intros x _. apply box_same. intro. apply H.
Qed.

Lemma box_times d k : forall f A B, integrable d f -> box d (fun xs => k * f xs) A B = k * box d f A B.
Proof.
  induction d; intros f A B; simpl. reflexivity. intros [I1 I2].
  rewrite (RInt_ext _ (fun x => k * box d (fun xs => f (x :: xs)) A B)).
  - apply scaled. apply I2.
  - intros x _. apply (IHd (fun xs => f (x :: xs))). apply I1.
Qed.

Lemma integrable_times d k : forall f, integrable d f -> integrable d (fun xs => k * f xs).
Proof.
  induction d; intro f; simpl. trivial. intros [I1 I2]. split.
  - intro x. apply (IHd (fun xs => f (x :: xs))). apply I1.
  - intros A B. apply (ex_RInt_ext (fun x => k * box d (fun xs => f (x :: xs)) A B)).
    + intros x _. symmetry. apply (box_times d k (fun xs => f (x :: xs))). apply I1.
    + apply (ex_RInt_scal (V := R_NormedModule) (fun x => box d (fun xs => f (x :: xs)) A B)). apply I2.
Qed.

Section Several.
Variable s : R.
Hypothesis scale : 0 < s.

Lemma normal_positive m x : 0 < normal m s x.
Proof. unfold normal. apply Rdiv_lt_0_compat. apply n_positive. exact scale. Qed.

Lemma normal_ratio m v x : normal (m + v) s x = normal m s x * exp (v / s * ((x - m) / s) - v / s * (v / s) / 2).
Proof.
  unfold normal. replace ((x - (m + v)) / s) with ((x - m) / s - v / s) by (field; lra). rewrite ratio. field. lra.
Qed.

Lemma conditional d phi p (P : list R -> R) x : p <> 0 -> integrable d (fun xs => phi (x :: xs) * (p * P xs)) ->
  integrable d (fun xs => phi (x :: xs) * P xs) /\
  forall A B, box d (fun xs => phi (x :: xs) * (p * P xs)) A B = p * box d (fun xs => phi (x :: xs) * P xs) A B.
Proof.
  intros Hp H. assert (K : integrable d (fun xs => phi (x :: xs) * P xs)).
  { apply (integrable_same d (fun xs => / p * (phi (x :: xs) * (p * P xs)))). intro; field; exact Hp. apply integrable_times. exact H. }
  split. exact K. intros A B. rewrite <- (box_times d p (fun xs => phi (x :: xs) * P xs)) by exact K.
  apply box_same. intro; ring.
Qed.

(* One coordinate, of any mean and scale. *)
Lemma coordinate c v b eps A B : 0 < b -> A <= B ->
  let mixed x := normal (c + v) s x * delta b (eps - (v / s * ((x - c) / s) - v / s * (v / s) / 2)) in
  ex_RInt mixed A B /\ RInt mixed A B <= delta (sqrt (v / s * (v / s) + b * b)) eps.
Proof.
  intros Hb H mixed. set (a := v / s).
  set (std := fun z => n (z - a) * delta b (eps - (a * z - a * a / 2))).
  assert (E : forall x, mixed x = scal (/ s) (std (/ s * x + - c / s))).
  { intro x. unfold mixed, std, normal, scal; simpl; unfold mult; simpl.
    replace (/ s * x + - c / s) with ((x - c) / s) by (field; lra).
    replace ((x - (c + v)) / s) with ((x - c) / s - a) by (unfold a; field; lra). fold a. field. lra. }
  assert (I : ex_RInt std (/ s * A + - c / s) (/ s * B + - c / s)) by (apply mixed_integrable; exact Hb).
  split.
  - apply (ex_RInt_ext (fun x => scal (/ s) (std (/ s * x + - c / s)))). intros; symmetry; apply E.
    apply (ex_RInt_comp_lin (V := R_NormedModule) std). exact I.
  - rewrite (RInt_ext mixed (fun x => scal (/ s) (std (/ s * x + - c / s)))) by (intros; apply E).
    rewrite (RInt_comp_lin std) by exact I. apply (mixture a b eps Hb).
    apply Rplus_le_compat_r. apply Rmult_le_compat_l. left; apply Rinv_0_lt_compat; exact scale. exact H.
Qed.

Lemma strictly v : forall c m eps, length c = length v -> 0 < m -> square v < m * s * (m * s) ->
  below_in (length v) (law (moved c v) s) (law c s) eps (delta m eps).
Proof.
  induction v as [|v0 v IH]; intros c m eps; destruct c as [|c0 c]; try discriminate.
  - intros _ Hm _ phi A B [Hphi _] _. simpl. generalize (Hphi []) (delta_not_negative m eps Hm) (delta_floor m eps Hm).
    generalize (exp_pos eps). intros. nra.
  - intros Hl Hm Hv phi A B [Hphi [If Ig]] HAB. simpl in Hl. injection Hl as Hl. simpl in Hv.
    set (a := v0 / s). set (b := sqrt (m * m - a * a)).
    assert (Sv : square v < (m * m - a * a) * (s * s)).
    { replace ((m * m - a * a) * (s * s)) with (m * s * (m * s) - v0 * v0) by (unfold a; field; lra). lra. }
    assert (Pos : 0 < m * m - a * a).
    { apply (Rmult_lt_reg_r (s * s)). nra. generalize (square_not_negative v). lra. }
    assert (Hb : 0 < b) by (apply sqrt_lt_R0; exact Pos).
    assert (Bb : b * b = m * m - a * a) by (apply sqrt_sqrt; lra).
    assert (Sb : square v < b * s * (b * s)) by (replace (b * s * (b * s)) with (b * b * (s * s)) by ring; rewrite Bb; exact Sv).
    simpl in If, Ig. destruct If as [If1 If2]. destruct Ig as [Ig1 Ig2].
    set (U := fun x => box (length v) (fun xs => phi (x :: xs) * law (moved c v) s xs) A B).
    set (W := fun x => box (length v) (fun xs => phi (x :: xs) * law c s xs) A B).
    assert (EU : forall x, box (length v) (fun xs => phi (x :: xs) * (normal (c0 + v0) s x * law (moved c v) s xs)) A B
      = normal (c0 + v0) s x * U x).
    { intro x. apply conditional. generalize (normal_positive (c0 + v0) x); lra. apply If1. }
    assert (EW : forall x, box (length v) (fun xs => phi (x :: xs) * (normal c0 s x * law c s xs)) A B = normal c0 s x * W x).
    { intro x. apply conditional. generalize (normal_positive c0 x); lra. apply Ig1. }
    assert (IU : ex_RInt (fun x => normal (c0 + v0) s x * U x) A B).
    { refine (ex_RInt_ext _ _ _ _ _ (If2 A B)). intros x _. apply EU. }
    assert (IW : ex_RInt (fun x => normal c0 s x * W x) A B).
    { refine (ex_RInt_ext _ _ _ _ _ (Ig2 A B)). intros x _. apply EW. }
    simpl.
    rewrite (RInt_ext _ (fun x => normal (c0 + v0) s x * U x)) by (intros; apply EU).
    rewrite (RInt_ext (fun x => box (length v) (fun xs => phi (x :: xs) * (normal c0 s x * law c s xs)) A B)
              (fun x => normal c0 s x * W x)) by (intros; apply EW).
    rewrite <- (scaled (fun x => normal c0 s x * W x)) by exact IW.
    rewrite <- (difference (fun x => normal (c0 + v0) s x * U x) (fun x => exp eps * (normal c0 s x * W x)));
      [|exact IU | apply (ex_RInt_scal (V := R_NormedModule) (fun x => normal c0 s x * W x)); exact IW].
    destruct (coordinate c0 v0 b eps A B Hb HAB) as [IC C].
    assert (M : sqrt (v0 / s * (v0 / s) + b * b) = m).
    { fold a. rewrite Bb. replace (a * a + (m * m - a * a)) with (m * m) by ring. apply sqrt_square. lra. }
    rewrite M in C. apply Rle_trans with (2 := C). apply RInt_le. exact HAB.
    + apply (ex_RInt_minus (V := R_NormedModule) (fun x => normal (c0 + v0) s x * U x)). exact IU.
      apply (ex_RInt_scal (V := R_NormedModule) (fun x => normal c0 s x * W x)). exact IW.
    + exact IC.
    + intros x _. set (e := v0 / s * ((x - c0) / s) - v0 / s * (v0 / s) / 2).
      assert (T : test_in (length v) (law (moved c v) s) (law c s) (fun xs => phi (x :: xs))).
      { split. intro; apply Hphi. split.
        apply (conditional _ _ (normal (c0 + v0) s x)). generalize (normal_positive (c0 + v0) x); lra. apply If1.
        apply (conditional _ _ (normal c0 s x)). generalize (normal_positive c0 x); lra. apply Ig1. }
      generalize (IH c b (eps - e) Hl Hb Sb _ A B T HAB). fold (U x) (W x). intro G.
      generalize (normal_positive (c0 + v0) x). intro P.
      replace (exp eps * (normal c0 s x * W x)) with (normal (c0 + v0) s x * (exp (eps - e) * W x)).
      * rewrite <- Rmult_minus_distr_l. apply Rmult_le_compat_l; lra.
      * rewrite normal_ratio. fold e. rewrite exp_difference. field. generalize (exp_pos e). lra.
Qed.

(** Whatever the direction of the step, and however short: the curve of its greatest length. *)
Theorem several c v m eps : length c = length v -> 0 < m -> square v <= m * s * (m * s) ->
  below_in (length v) (law (moved c v) s) (law c s) eps (delta m eps).
Proof.
  intros Hl Hm Hv phi A B T HAB.
  set (g := box (length v) (fun xs => phi xs * law (moved c v) s xs) A B - exp eps * box (length v) (fun xs => phi xs * law c s xs) A B).
  destruct (Rle_lt_dec g (delta m eps)) as [L | L]. exact L. exfalso.
  generalize (delta_continuous m eps Hm). intro C. apply continuity_pt_filterlim in C.
  destruct (C (g - delta m eps) ltac:(lra)) as [h [Hh D]].
  assert (Q : delta (m + h / 2) eps < g).
  { specialize (D (m + h / 2)). unfold dist in D; simpl in D. unfold R_dist in D.
    assert (K : Rabs (delta (m + h / 2) eps - delta m eps) < g - delta m eps).
    { apply D. split. split. exact Logic.I. lra. rewrite Rabs_pos_eq; lra. }
    apply Rabs_def2 in K. lra. }
  assert (F : g <= delta (m + h / 2) eps).
  { apply (strictly v c (m + h / 2) eps Hl); try assumption. lra.
    apply Rle_lt_trans with (1 := Hv). assert (m * s < (m + h / 2) * s) by (apply Rmult_lt_compat_r; lra). assert (0 < m * s) by (apply Rmult_lt_0_compat; lra). nra. }
  lra.
Qed.
End Several.
