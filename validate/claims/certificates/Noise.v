(* Sums of independent normal variables are normal. *)

From Coq Require Import Reals Lra Psatz List.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Rows Gaussian Erfc Mass Vector.
Import ListNotations.
Open Scope R_scope.

Lemma joint_between alpha t A B : RInt (fun x => n x * n (alpha * x + t)) A B
  = n (t / sqrt (1 + alpha * alpha)) / sqrt (1 + alpha * alpha)
    * RInt n (sqrt (1 + alpha * alpha) * A + alpha * t / sqrt (1 + alpha * alpha)) (sqrt (1 + alpha * alpha) * B + alpha * t / sqrt (1 + alpha * alpha)).
Proof.
  generalize (r_at_least_1 alpha). intro R1.
  rewrite <- (RInt_comp_lin n (sqrt (1 + alpha * alpha)) (alpha * t / sqrt (1 + alpha * alpha)) A B (n_integrable _ _)).
  rewrite <- scaled.
  - apply RInt_ext. intros x _. rewrite completed. unfold scal; simpl; unfold mult; simpl. field. lra.
  - apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros x _. unfold scal; simpl; unfold mult; simpl.
    apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive. generalize root_positive; lra.
Qed.

Lemma tail_far u v : 0 < u -> is_lim (fun B => tail (u * B + v)) p_infty 0.
Proof.
  intro H. apply (is_lim_ext (fun B => tail (u * B + v - 0))). intro; f_equal; ring.
  apply (is_lim_comp_lin (fun B => tail (B - 0)) u v p_infty 0); [|lra].
  replace (Rbar_plus (Rbar_mult u p_infty) v) with p_infty. apply tail_vanishes.
  simpl. destruct (Rle_dec 0 u) as [P|P]; [|lra]. destruct (Rle_lt_or_eq_dec 0 u P); [reflexivity | lra].
Qed.

Lemma between_limit u v w : 0 < u -> is_lim (fun B => RInt n (u * - B + v) (u * B + w)) p_infty 1.
Proof.
  intro H. apply (is_lim_ext (fun B => 1 - tail (u * B + - v) - tail (u * B + w))).
  - intro B. generalize (tail_split (u * - B + v) (u * B + w)).
    replace (u * - B + v) with (- (u * B + - v)) at 1 by ring. rewrite tail_reflected. lra.
  - replace (Finite 1) with (Finite (1 - 0 - 0)) by (f_equal; ring).
    apply is_lim_minus'; [|apply tail_far; exact H]. apply is_lim_minus'; [apply is_lim_const | apply tail_far; exact H].
Qed.

(** h is the density of the sum of two independent variables with densities f and g. *)
Definition sum_of (f g h : R -> R) : Prop := forall y, is_lim (fun B => RInt (fun x => f x * g (y - x)) (- B) B) p_infty (h y).

Theorem normals_add m1 s1 m2 s2 : 0 < s1 -> 0 < s2 ->
  sum_of (normal m1 s1) (normal m2 s2) (normal (m1 + m2) (sqrt (s1 * s1 + s2 * s2))).
Proof.
  intros H1 H2 y. set (alpha := - (s1 / s2)). set (t := (y - m1 - m2) / s2).
  generalize (r_at_least_1 alpha) (r_square alpha). set (r := sqrt (1 + alpha * alpha)). intros R1 R2.
  assert (S : sqrt (s1 * s1 + s2 * s2) = r * s2).
  { replace (s1 * s1 + s2 * s2) with (r * s2 * (r * s2)).
    - apply sqrt_square. nra.
    - replace (r * s2 * (r * s2)) with (r * r * (s2 * s2)) by ring. rewrite R2. unfold alpha. field. lra. }
  set (z := fun x => n x * n (alpha * x + t)).
  assert (I : forall a b, ex_RInt z a b) by (intros; apply joint_integrable).
  assert (E : forall B, RInt (fun x => normal m1 s1 x * normal m2 s2 (y - x)) (- B) B
    = / s2 * (n (t / r) / r) * RInt n (r / s1 * - B + (alpha * t / r - r * m1 / s1)) (r / s1 * B + (alpha * t / r - r * m1 / s1))).
  { intro B. transitivity (/ s2 * RInt z (/ s1 * - B + - m1 / s1) (/ s1 * B + - m1 / s1)).
    - rewrite <- (RInt_comp_lin z (/ s1) (- m1 / s1) (- B) B (I _ _)). rewrite <- scaled.
      + apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl. unfold z, normal.
        replace (/ s1 * x + - m1 / s1) with ((x - m1) / s1) by (field; lra).
        replace (alpha * ((x - m1) / s1) + t) with ((y - x - m2) / s2) by (unfold alpha, t; field; lra). field. lra.
      + apply (ex_RInt_comp_lin (V := R_NormedModule) z). apply I.
    - unfold z. rewrite joint_between. fold r. rewrite <- Rmult_assoc. f_equal. f_equal; field; lra. }
  apply (is_lim_ext (fun B => / s2 * (n (t / r) / r) * RInt n (r / s1 * - B + (alpha * t / r - r * m1 / s1)) (r / s1 * B + (alpha * t / r - r * m1 / s1)))).
  intro B. symmetry. apply E.
  replace (Finite (normal (m1 + m2) (sqrt (s1 * s1 + s2 * s2)) y)) with (Rbar_mult (/ s2 * (n (t / r) / r)) 1).
  - apply is_lim_scal_l. apply between_limit. apply Rdiv_lt_0_compat; lra.
  - simpl. f_equal. rewrite S. unfold normal. replace ((y - (m1 + m2)) / (r * s2)) with (t / r) by (unfold t; field; lra). field. lra.
Qed.

(** The density of the sum of finitely many. *)
Fixpoint is_sum (densities : list (R -> R)) (h : R -> R) : Prop :=
  match densities with
  | [] => False
  | [f] => h = f
  | f :: rest => exists g, is_sum rest g /\ sum_of f g h
  end.

Fixpoint sum (l : list R) : R := match l with [] => 0 | x :: l => x + sum l end.

Lemma sum_squares_positive l : (forall s, In s l -> 0 < s) -> 0 <= sum (map (fun s => s * s) l).
Proof.
  induction l as [|s l IH]; simpl; intro H. lra. assert (0 < s) by (apply H; left; reflexivity).
  assert (0 <= sum (map (fun s => s * s) l)) by (apply IH; intros; apply H; right; assumption). nra.
Qed.

Theorem all_normals_add : forall (l : list (R * R)) m s, (forall p, In p l -> 0 < snd p) -> 0 < s ->
  is_sum (map (fun p => normal (fst p) (snd p)) l ++ [normal m s])
         (normal (sum (map fst l) + m) (sqrt (sum (map (fun p => snd p * snd p) l) + s * s))).
Proof.
  induction l as [|[m1 s1] l IH]; intros m s H Hs.
  - simpl. rewrite !Rplus_0_l, sqrt_square by lra. reflexivity.
  - assert (H1 : 0 < s1) by (apply (H (m1, s1)); left; reflexivity).
    assert (Hl : forall p, In p l -> 0 < snd p) by (intros; apply H; right; assumption).
    specialize (IH m s Hl Hs).
    assert (P : 0 <= sum (map (fun p => snd p * snd p) l)).
    { rewrite <- (map_map snd (fun s => s * s)). apply sum_squares_positive. intros x Hx. apply in_map_iff in Hx.
      destruct Hx as [p [<- Hp]]. apply Hl. exact Hp. }
    set (s2 := sqrt (sum (map (fun p => snd p * snd p) l) + s * s)) in *.
    assert (H2 : 0 < s2) by (apply sqrt_lt_R0; nra).
    assert (Q : s2 * s2 = sum (map (fun p => snd p * snd p) l) + s * s) by (apply sqrt_sqrt; nra).
    assert (K : exists g, is_sum (map (fun p => normal (fst p) (snd p)) l ++ [normal m s]) g /\
      sum_of (normal m1 s1) g (normal (sum (map fst ((m1, s1) :: l)) + m) (sqrt (sum (map (fun p => snd p * snd p) ((m1, s1) :: l)) + s * s)))).
    { eexists. split. exact IH. simpl.
      replace (m1 + sum (map fst l) + m) with (m1 + (sum (map fst l) + m)) by ring.
      replace (s1 * s1 + sum (map (fun p => snd p * snd p) l) + s * s) with (s1 * s1 + s2 * s2) by (rewrite Q; ring).
      apply normals_add; assumption. }
    clear IH. change (map (fun p => normal (fst p) (snd p)) ((m1, s1) :: l) ++ [normal m s])
      with (normal m1 s1 :: (map (fun p => normal (fst p) (snd p)) l ++ [normal m s])).
    destruct l; exact K.
Qed.
