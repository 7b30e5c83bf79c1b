(* Utility fairness: gradient descent on smooth convex functions of any number of variables; the energy of a device. *)

From Coq Require Import Reals Ranalysis5 Lra Lia Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Model Sums.
Open Scope R_scope.

(* Functions of n variables. G is the gradient of F: it gives the derivative along every line. *)
Definition is_gradient (n : nat) (F : (nat -> R) -> R) (G : (nat -> R) -> nat -> R) : Prop :=
  forall x d, is_derive (fun t => F (fun i => x i + t * d i)) 0 (dot n (G x) d).

(* L-smooth (the gradient is Lipschitz) and mu-strongly convex; mu = 0 is convex *)
Definition smooth (n : nat) (mu L : R) (F : (nat -> R) -> R) (G : (nat -> R) -> nat -> R) : Prop :=
  is_gradient n F G
  /\ (forall x y, size n (fun i => G x i - G y i) <= L * size n (fun i => x i - y i))
  /\ (forall x y, F x + dot n (G x) (fun i => y i - x i) + mu / 2 * dot n (fun i => y i - x i) (fun i => y i - x i) <= F y).

Fixpoint descended (G : (nat -> R) -> nat -> R) (step : R) (j : nat) (x : nat -> R) : nat -> R :=
  match j with
  | O => x
  | S i => descended G step i (fun k => x k - step * G x k)
  end.

Section Lipschitz.
Variables (n : nat) (L : R) (F : (nat -> R) -> R) (G : (nat -> R) -> nat -> R).
Hypothesis gradient : is_gradient n F G.
Hypothesis Lip : forall x y, size n (fun i => G x i - G y i) <= L * size n (fun i => x i - y i).

Lemma along x d t : is_derive (fun u => F (fun i => x i + u * d i)) t (dot n (G (fun i => x i + t * d i)) d).
Proof.
apply (is_derive_ext (fun u => (fun v => F (fun i => (x i + t * d i) + v * d i)) (u - t))).
- intros u. simpl. f_equal. apply functional_extensionality. intros i. ring.
- replace (dot n (G (fun i => x i + t * d i)) d) with (1 * dot n (G (fun i => x i + t * d i)) d) by ring.
  apply (is_derive_comp (fun v => F (fun i => (x i + t * d i) + v * d i)) (fun u => u - t)).
  + replace (t - t) with 0 by ring. apply gradient.
  + auto_derive; trivial; ring.
Qed.

(* the quadratic above a smooth function *)
Lemma lipschitz_below x y :
  F y <= F x + dot n (G x) (fun i => y i - x i) + L / 2 * dot n (fun i => y i - x i) (fun i => y i - x i).
Proof.
set (d := fun i => y i - x i). set (s := dot n d d).
set (g := fun t => F (fun i => x i + t * d i) - t * dot n (G x) d - t * t * (L / 2 * s)).
set (dg := fun t => dot n (G (fun i => x i + t * d i)) d - dot n (G x) d - 2 * t * (L / 2 * s)).
assert (D : forall t, is_derive g t (dg t)).
{ intros t. unfold g, dg.
  apply (is_derive_minus (fun t => F (fun i => x i + t * d i) - t * dot n (G x) d) (fun t => t * t * (L / 2 * s))).
  - apply (is_derive_minus (fun t => F (fun i => x i + t * d i)) (fun t => t * dot n (G x) d)). apply along.
    auto_derive; trivial; ring.
  - auto_derive; trivial; ring. }
destruct (MVT_gen g 0 1 dg) as (c & (C0 & C1) & C).
- intros t _. apply D.
- intros t _. apply continuity_pt_filterlim. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)).
  exists (dg t). apply D.
- rewrite Rmin_left in C0 by lra. rewrite Rmax_right in C1 by lra.
  generalize (Lip (fun i => x i + c * d i) x). cbv beta. intros Lip'.
  assert (S : size n (fun i => x i + c * d i - x i) = c * size n d).
  { unfold size. replace (c * sqrt (dot n d d)) with (sqrt (c * c) * sqrt (dot n d d)) by (rewrite sqrt_square;
      [reflexivity | exact C0]).
    rewrite <- sqrt_mult by (try apply dot_self; nra).
    f_equal. unfold dot. rewrite <- total_times. apply total_ext. intros. ring. }
  rewrite S in Lip'. generalize (cauchy n (fun i => G (fun i => x i + c * d i) i - G x i) d). intros B.
  rewrite dot_minus in B. generalize (size_positive n d) (size_square n d). fold s. intros P Q.
  assert (dg c <= 0). { unfold dg. nra. }
  assert (E1 : F y = F (fun i => x i + 1 * d i)).
  { f_equal. apply functional_extensionality. intros i. unfold d. ring. }
  assert (E0 : F x = F (fun i => x i + 0 * d i)).
  { f_equal. apply functional_extensionality. intros i. unfold d. ring. }
  rewrite E1, E0. unfold g in C. lra.
Qed.

(* the descent lemma; nothing is convex here *)
Theorem UF_E42 eta x :
  F (fun k => x k - eta * G x k) <= F x + (eta ^ 2 * L / 2 - eta) * dot n (G x) (G x).
Proof.
apply Rle_trans with (1 := lipschitz_below x _). right.
enough (dot n (G x) (fun i => x i - eta * G x i - x i)
  + L / 2 * dot n (fun i => x i - eta * G x i - x i) (fun i => x i - eta * G x i - x i)
  = (eta ^ 2 * L / 2 - eta) * dot n (G x) (G x)) by lra.
unfold dot. gather. apply total_ext. intros. field.
Qed.
End Lipschitz.

Section Class.
Variables (n : nat) (mu L : R) (F : (nat -> R) -> R) (G : (nat -> R) -> nat -> R).
Hypothesis class : smooth n mu L F G.

Lemma below_quadratic x y :
  F y <= F x + dot n (G x) (fun i => y i - x i) + L / 2 * dot n (fun i => y i - x i) (fun i => y i - x i).
Proof. destruct class as (D & B & _). apply lipschitz_below; assumption. Qed.

(* the quadratic below it at a point, which is the greater the more the gradients differ *)
Lemma interpolated x y : mu < L ->
  F x + total n (fun i => G x i * (y i - x i) + mu / 2 * (y i - x i) ^ 2
                          + (G y i - G x i - mu * (y i - x i)) ^ 2 / (2 * (L - mu))) <= F y.
Proof.
intros H. set (M := L - mu). destruct class as (_ & _ & C).
set (z := fun i => y i - (G y i - G x i - mu * (y i - x i)) / M).
generalize (below_quadratic y z) (C x z). intros U V.
assert (I : total n (fun i => G x i * (y i - x i) + mu / 2 * (y i - x i) ^ 2 + (G y i - G x i - mu * (y i - x i)) ^ 2 / (2 * M))
  = dot n (G x) (fun i => z i - x i) + mu / 2 * dot n (fun i => z i - x i) (fun i => z i - x i)
    - (dot n (G y) (fun i => z i - y i) + L / 2 * dot n (fun i => z i - y i) (fun i => z i - y i))).
{ unfold dot. gather. apply total_ext. intros i _. unfold z, M. field. lra. }
rewrite I. lra.
Qed.
End Class.

Section Descent.
Variables (n : nat) (mu L : R) (F : (nat -> R) -> R) (G : (nat -> R) -> nat -> R).
Hypothesis positive : 0 < L.
Hypothesis class : smooth n mu L F G.

Lemma one_step eta x : F (fun k => x k - eta * G x k) <= F x - eta * (1 - L * eta / 2) * dot n (G x) (G x).
Proof. destruct class as (D & B & _). apply Rle_trans with (1 := UF_E42 n L F G D B eta x). right. field. Qed.

Lemma slope_at_most low x : (forall y, low <= F y) -> dot n (G x) (G x) <= 2 * L * (F x - low).
Proof.
intros H. generalize (one_step (/ L) x) (H (fun k => x k - / L * G x k)). intros A B.
replace (/ L * (1 - L * / L / 2)) with (/ (2 * L)) in A by (field; lra).
apply (Rmult_le_reg_l (/ (2 * L))). apply Rinv_0_lt_compat; lra.
replace (/ (2 * L) * (2 * L * (F x - low))) with (F x - low) by (field; lra). lra.
Qed.

Variable s : nat -> R.
Hypothesis least : forall y, F s <= F y.

Lemma flat i : (i < n)%nat -> G s i = 0.
Proof.
intros H. generalize (slope_at_most (F s) s least). replace (2 * L * (F s - F s)) with 0 by ring. intros A.
assert (G s i * G s i <= dot n (G s) (G s)) by (apply (total_part n (fun i => G s i * G s i)); [intros; nra | exact H]). nra.
Qed.

Lemma slope_at_least x : 0 < mu -> 2 * mu * (F x - F s) <= dot n (G x) (G x).
Proof.
intros H. destruct class as (_ & _ & C). specialize (C x s).
assert (A : - / (2 * mu) * dot n (G x) (G x)
  <= dot n (G x) (fun i => s i - x i) + mu / 2 * dot n (fun i => s i - x i) (fun i => s i - x i)).
{ unfold dot. gather. apply total_le. intros i _. apply Rminus_le. apply (Rmult_le_reg_l (2 * mu)). lra.
  rewrite Rmult_0_r. apply Rle_trans with (- (G x i + mu * (s i - x i)) ^ 2). right; field; lra.
  generalize (pow2_ge_0 (G x i + mu * (s i - x i))). lra. }
apply (Rmult_le_reg_l (/ (2 * mu))). apply Rinv_0_lt_compat; lra.
replace (/ (2 * mu) * (2 * mu * (F x - F s))) with (F x - F s) by (field; lra). lra.
Qed.

Definition rate (eta : R) : R := Rmax (Rabs (1 - eta * mu)) (Rabs (1 - eta * L)).

(* a sum of three interpolations, with weights r, r (1 - r) and 1 - r, has two squares beside the excesses *)
Lemma weighed r eta x : mu < L -> 0 <= r <= 1 ->
  (forall a g h, 0 <= r * (h * (eta * g) + mu / 2 * (eta * g) ^ 2 + (g - h - mu * (eta * g)) ^ 2 / (2 * (L - mu)))
    + r * (1 - r) * (g * - a + mu / 2 * a ^ 2 + (- g + mu * a) ^ 2 / (2 * (L - mu)))
    + (1 - r) * (h * - (a - eta * g) + mu / 2 * (a - eta * g) ^ 2 + (- h + mu * (a - eta * g)) ^ 2 / (2 * (L - mu)))) ->
  F (fun k => x k - eta * G x k) - F s <= r ^ 2 * (F x - F s).
Proof.
intros H R Q. set (y := fun k => x k - eta * G x k).
generalize (interpolated n mu L F G class y x H) (interpolated n mu L F G class x s H)
  (interpolated n mu L F G class y s H).
set (A := total n _). set (B := total n _). set (C := total n _). intros HA HB HC.
assert (0 <= r * A + r * (1 - r) * B + (1 - r) * C).
{ unfold A, B, C. gather. apply total_positive. intros i Hi. apply Rle_trans with (1 := Q (x i - s i) (G x i) (G y i)). right.
  replace (y i) with (x i - eta * G x i) by reflexivity. rewrite (flat i Hi). field. lra. }
assert (0 <= r * (F x - F y - A)) by (apply Rmult_le_pos; lra).
assert (0 <= r * (1 - r) * (F s - F x - B)) by (repeat apply Rmult_le_pos; lra).
assert (0 <= (1 - r) * (F s - F y - C)) by (apply Rmult_le_pos; lra).
lra.
Qed.

(* (52): what a step of descent leaves *)
Theorem UF_E52 eta x : 0 < mu -> 0 <= eta -> eta * L <= 2 ->
  F (fun k => x k - eta * G x k) - F s <= (1 - mu * eta * (1 - eta * L / 2)) * (F x - F s).
Proof.
intros H P Q. generalize (one_step eta x) (slope_at_least x H) (least x). intros A B C.
assert (0 <= eta * (1 - L * eta / 2)) by (apply Rmult_le_pos; lra).
assert (eta * (1 - L * eta / 2) * (2 * mu * (F x - F s))
  <= eta * (1 - L * eta / 2) * dot n (G x) (G x)) by (apply Rmult_le_compat_l; assumption).
assert (0 <= eta * (1 - L * eta / 2) * (mu * (F x - F s))) by (apply Rmult_le_pos; [assumption | apply Rmult_le_pos; lra]).
lra.
Qed.

Lemma contracted eta x : 0 < mu <= L -> 0 < eta -> F (fun k => x k - eta * G x k) - F s <= rate eta ^ 2 * (F x - F s).
Proof.
intros H P. assert (X : 0 <= F x - F s) by (generalize (least x); lra).
assert (R : 0 <= Rabs (1 - eta * mu) /\ 0 <= Rabs (1 - eta * L)) by (split; apply Rabs_pos).
assert (S : (1 - eta * mu) ^ 2 <= rate eta ^ 2 /\ (1 - eta * L) ^ 2 <= rate eta ^ 2).
{ rewrite <- !(pow2_abs (1 - _)). unfold rate. split; apply pow_incr; split; try tauto; [apply Rmax_l | apply Rmax_r]. }
destruct (Rle_lt_dec (2 / L) eta) as [far | near].
{ (* a step that goes too far *)
  generalize (one_step eta x) (slope_at_most (F s) x least). intros A B.
  assert (1 <= L * eta / 2).
  { apply (Rmult_le_reg_l (2 / L)). apply Rdiv_lt_0_compat; lra. replace (2 / L * (L * eta / 2)) with eta by (field; lra). lra. }
  assert (F (fun k => x k - eta * G x k) - F s <= (1 - eta * L) ^ 2 * (F x - F s)).
  { assert (0 <= eta * (L * eta / 2 - 1)) by (apply Rmult_le_pos; lra). nra. }
  nra. }
assert (N : eta * L < 2).
{ apply (Rmult_lt_compat_r L) in near; [|lra]. replace (2 / L * L) with 2 in near by (field; lra). exact near. }
destruct (Req_dec mu L) as [same | differ].
{ generalize (one_step eta x) (slope_at_least x ltac:(lra)). intros A B.
  assert (0 <= eta * (1 - L * eta / 2)) by (apply Rmult_le_pos; lra).
  assert (F (fun k => x k - eta * G x k) - F s <= (1 - eta * L) ^ 2 * (F x - F s)).
  { rewrite same in B. nra. }
  nra. }
destruct (Rle_lt_dec (eta * (L + mu)) 2) as [short | long].
- apply Rle_trans with ((1 - eta * mu) ^ 2 * (F x - F s)); [|apply Rmult_le_compat_r; tauto].
  apply weighed; [lra | nra |]. intros a g h.
  replace (_ + _) with (((h + (- L * a * eta * mu + L * eta * g + eta * g * mu - g)) ^ 2
    + L * eta * (2 - eta * (L + mu)) * (a * mu - g) ^ 2) / (2 * (L - mu))) by (field; lra).
  apply Rdiv_le_0_compat; [|lra]. apply Rplus_le_le_0_compat. apply pow2_ge_0.
  apply Rmult_le_pos; [|apply pow2_ge_0]. repeat apply Rmult_le_pos; lra.
- replace ((1 - eta * L) ^ 2) with ((eta * L - 1) ^ 2) in S by ring.
  apply Rle_trans with ((eta * L - 1) ^ 2 * (F x - F s)); [|apply Rmult_le_compat_r; tauto].
  apply weighed; [lra | nra |]. intros a g h.
  replace (_ + _) with (((h + (L * L * a * eta - 2 * L * a + g)) ^ 2
    + (2 - eta * L) * (eta * (L + mu) - 2) * (L * a - g) ^ 2) / (2 * (L - mu))) by (field; lra).
  apply Rdiv_le_0_compat; [|lra]. apply Rplus_le_le_0_compat. apply pow2_ge_0.
  apply Rmult_le_pos; [|apply pow2_ge_0]. repeat apply Rmult_le_pos; lra.
Qed.

Lemma descent_at_most eta j x : 0 < mu <= L -> 0 < eta -> F (descended G eta j x) - F s <= rate eta ^ (2 * j) * (F x - F s).
Proof.
intros H P. revert x. induction j as [|j IH]; intros x.
- simpl. lra.
- simpl descended. apply Rle_trans with (1 := IH _). replace (2 * S j)%nat with (2 + 2 * j)%nat by lia. rewrite pow_add.
  rewrite Rmult_assoc, Rmult_comm, (Rmult_comm (_ ^ (2 * j))), <- Rmult_assoc, Rmult_comm.
  generalize (contracted eta x H P). intros C.
  assert (0 <= rate eta ^ (2 * j)) by (rewrite pow_mult; apply pow_le, pow2_ge_0). nra.
Qed.
End Descent.

(* F of this class in any number of variables, least at s, and x that is not *)
Definition instance (mu L : R) (n : nat) F G (x s : nat -> R) : Prop :=
  smooth n mu L F G /\ (forall y, F s <= F y) /\ F s < F x.

(* the share of the excess that is left after j steps *)
Definition left_after (F : (nat -> R) -> R) G (eta : R) (j : nat) (x s : nat -> R) : R :=
  (F (descended G eta j x) - F s) / (F x - F s).

Lemma left_at_most mu L n F G x s eta j : 0 < mu <= L -> 0 < eta -> instance mu L n F G x s ->
  left_after F G eta j x s <= rate mu L eta ^ (2 * j).
Proof.
intros H P (C & M & N). unfold left_after. apply (Rmult_le_reg_r (F x - F s)). lra.
replace (_ / _ * _) with (F (descended G eta j x) - F s) by (field; lra).
apply (descent_at_most n mu L F G ltac:(lra) C s M eta j x H P).
Qed.

(* a quadratic of one variable *)
Definition parabola (c : R) (x : nat -> R) : R := c * x 0%nat ^ 2 / 2.
Definition line (c : R) (x : nat -> R) (i : nat) : R := c * x i.

Lemma size_1 u : size 1 u = Rabs (u 0%nat).
Proof. unfold size, dot. simpl. rewrite Rplus_0_l. apply sqrt_Rsqr_abs. Qed.

Lemma parabola_smooth mu L c : 0 <= mu <= c -> c <= L -> smooth 1 mu L (parabola c) (line c).
Proof.
intros H HL. unfold parabola, line. split; [|split].
- intros x d. unfold dot. simpl. auto_derive; [trivial | field].
- intros x y. rewrite !size_1. replace (c * x 0%nat - c * y 0%nat) with (c * (x 0%nat - y 0%nat)) by ring.
  rewrite Rabs_mult, (Rabs_pos_eq c) by lra. apply Rmult_le_compat_r. apply Rabs_pos. exact HL.
- intros x y. unfold dot. simpl. assert (0 <= (c - mu) * (y 0%nat - x 0%nat) ^ 2) by (apply Rmult_le_pos;
    [lra | apply pow2_ge_0]). nra.
Qed.

Lemma parabola_left mu L c eta j : 0 <= mu <= c -> c <= L -> 0 < c ->
  instance mu L 1 (parabola c) (line c) (fun _ => 1) (fun _ => 0)
  /\ left_after (parabola c) (line c) eta j (fun _ => 1) (fun _ => 0) = (1 - eta * c) ^ (2 * j).
Proof.
intros H HL P. split.
- split; [apply parabola_smooth; lra | split].
  + intros y. unfold parabola. nra.
  + unfold parabola. simpl. lra.
- assert (D : forall x, parabola c (descended (line c) eta j x) = (1 - eta * c) ^ (2 * j) * parabola c x).
  { induction j as [|j IH]; intros x.
    - simpl. ring.
    - simpl descended. rewrite IH. replace (2 * S j)%nat with (2 + 2 * j)%nat by lia. rewrite pow_add.
      unfold parabola, line. simpl. field. }
  unfold left_after. rewrite D. unfold parabola. field. lra.
Qed.

Theorem UF_T1_star mu L eta j : 0 < mu <= L -> 0 < eta ->
  is_lub (fun share => exists n F G x s, instance mu L n F G x s /\ share = left_after F G eta j x s)
         (rate mu L eta ^ (2 * j)).
Proof.
intros H P. split.
- intros share (n & F & G & x & s & I & ->). apply left_at_most with (n := n); assumption.
- intros b B.
  assert (Q : forall c, mu <= c <= L -> (1 - eta * c) ^ (2 * j) <= b).
  { intros c Hc. apply B. destruct (parabola_left mu L c eta j) as (I & E); try lra.
    exists 1%nat, (parabola c), (line c), (fun _ => 1), (fun _ => 0). split; [exact I | symmetry; exact E]. }
  unfold rate. apply Rmax_case; rewrite pow_mult, pow2_abs, <- pow_mult; apply Q; lra.
Qed.

Theorem UF_T1_star_necessary L n F G x low eta j : 0 < eta -> eta * L < 1 -> 0 < L ->
  smooth n 0 L F G -> (forall y, low <= F y) -> low < F x ->
  (1 - eta * L) ^ (2 * j) <= (F (descended G eta j x) - low) / (F x - low).
Proof.
intros P Q HL C M N.
assert (once : forall x, (1 - eta * L) ^ 2 * (F x - low) <= F (fun k => x k - eta * G x k) - low).
{ clear x N. intro x. set (y := fun k => x k - eta * G x k).
  generalize (interpolated n 0 L F G C x y HL) (slope_at_most n 0 L F G HL C low x M) (slope_at_most n 0 L F G HL C low y M).
  set (A := total n _). intros HA HB HC.
  assert (D : - (eta * (1 - eta * L) / 2) * dot n (G x) (G x) <= (1 - eta * L) * A + eta / 2 * dot n (G y) (G y)).
  { unfold A, dot. gather. apply total_le. intros i _. replace (y i) with (x i - eta * G x i) by reflexivity.
    apply Rminus_le. apply Rle_trans with (- ((G y i - (1 - eta * L) * G x i) ^ 2 / (2 * L))).
    - right. field. lra.
    - enough (0 <= (G y i - (1 - eta * L) * G x i) ^ 2 / (2 * L)) by lra. apply Rdiv_le_0_compat. apply pow2_ge_0. lra. }
  assert (0 <= (1 - eta * L) * (F y - F x - A)) by (apply Rmult_le_pos; lra).
  assert (0 <= eta / 2 * (2 * L * (F y - low) - dot n (G y) (G y))) by (apply Rmult_le_pos; lra).
  assert (0 <= eta * (1 - eta * L) / 2 * (2 * L * (F x - low) - dot n (G x) (G x))) by (repeat apply Rmult_le_pos; lra).
  lra. }
apply (Rmult_le_reg_r (F x - low)). lra. replace (_ / _ * _) with (F (descended G eta j x) - low) by (field; lra).
clear N. revert x. induction j as [|j IH]; intros x.
- simpl. lra.
- simpl descended. apply Rle_trans with (2 := IH _). replace (2 * S j)%nat with (2 + 2 * j)%nat by lia. rewrite pow_add.
  assert (0 <= (1 - eta * L) ^ (2 * j)) by (rewrite pow_mult; apply pow_le, pow2_ge_0). generalize (once x). nra.
Qed.

Theorem UF_E41 mu L n F G x s eta j : 0 < mu <= L -> 0 < eta -> eta * L < 2 -> (1 <= j)%nat -> instance mu L n F G x s ->
  left_after F G eta j x s <= (mu * eta ^ 2 * L / 2 - mu * eta + 1) ^ (j + 1).
Proof.
intros H P Q J I. apply Rle_trans with (1 := left_at_most mu L n F G x s eta j H P I).
set (a := mu * eta ^ 2 * L / 2 - mu * eta + 1).
assert (U : 0 <= mu * eta) by nra.
assert (V : mu * eta <= L * eta) by nra.
assert (W : 0 <= mu * eta * (1 - L * eta / 2)) by (apply Rmult_le_pos; lra).
assert (X : mu * eta * (1 - L * eta / 2) <= L * eta * (1 - L * eta / 2)) by (apply Rmult_le_compat_r; lra).
assert (Y : L * eta * (1 - L * eta / 2) <= 1 / 2) by (generalize (pow2_ge_0 (L * eta - 1)); lra).
assert (A : 1 / 2 <= a <= 1) by (unfold a; lra).
assert (B : rate mu L eta ^ 2 <= a ^ 2).
{ apply Rle_trans with (2 * a - 1); [|generalize (pow2_ge_0 (a - 1)); lra].
  unfold rate, a. apply Rmax_case; rewrite pow2_abs.
  - assert (0 <= mu * eta * (L * eta - mu * eta)) by (apply Rmult_le_pos; lra). lra.
  - assert (0 <= (L * eta - mu * eta) * (2 - L * eta)) by (apply Rmult_le_pos; lra). lra. }
rewrite pow_mult. apply Rle_trans with ((a ^ 2) ^ j). apply pow_incr. split; [apply pow2_ge_0 | exact B].
rewrite <- pow_mult. replace (2 * j)%nat with ((j + 1) + (j - 1))%nat by lia. rewrite pow_add.
rewrite <- (Rmult_1_r (a ^ (j + 1))) at 2. apply Rmult_le_compat_l. apply pow_le; lra.
rewrite <- (pow1 (j - 1)). apply pow_incr. lra.
Qed.

(* the least number of steps that suffice for all of the class is the least whole number that is not below the quotient *)
Theorem UF_R1 mu L eta Phi (least : nat) : 0 < mu <= L -> 0 < eta -> 0 < rate mu L eta < 1 -> 0 < Phi <= 1 ->
  let enough j := forall n F G x s, instance mu L n F G x s -> left_after F G eta j x s <= Phi in
  INR least - 1 < ln Phi / (2 * ln (rate mu L eta)) <= INR least -> enough least /\ forall j, enough j -> (least <= j)%nat.
Proof.
intros H P R T enough B. set (r := rate mu L eta) in *.
assert (N : ln r < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
assert (W : forall j, enough j <-> r ^ (2 * j) <= Phi).
{ intros j. destruct (UF_T1_star mu L eta j H P) as (U & V). split.
  - intros E. apply V. intros share (n & F & G & x & s & I & ->). apply (E n F G x s I).
  - intros E n F G x s I. apply Rle_trans with (2 := E). apply U. exists n, F, G, x, s. split; [exact I | reflexivity]. }
assert (Q : forall j, r ^ (2 * j) <= Phi <-> ln Phi / (2 * ln r) <= INR j).
{ intros j. assert (0 < r ^ (2 * j)) by (apply pow_lt; lra).
  assert (K : ln (r ^ (2 * j)) = INR j * (2 * ln r)) by (rewrite ln_pow, mult_INR by lra; simpl; ring).
  split; intros E.
  - apply ln_le in E; [|assumption]. rewrite K in E. apply Ropp_le_cancel. 
    apply (Rmult_le_reg_r (- (2 * ln r))). lra.
    replace (- (ln Phi / (2 * ln r)) * - (2 * ln r)) with (ln Phi) by (field; lra). lra.
  - apply Rnot_lt_le. intros L'. apply ln_increasing in L'; [|lra]. rewrite K in L'.
    assert (ln Phi / (2 * ln r) * (2 * ln r) = ln Phi) by (field; lra). nra. }
split.
- apply W, Q, B.
- intros j E. apply W, Q in E. apply INR_le. apply Rnot_lt_le. intros F.
  assert (INR j + 1 <= INR least) by (rewrite <- S_INR; apply le_INR; apply INR_lt in F; lia). lra.
Qed.

(* a quadratic with curvatures c in the orthonormal directions e, least at m; its gradient *)
Definition bowl (n K : nat) (c : nat -> R) (e : nat -> nat -> R) (m : nat -> R) (least : R) (h : nat -> R) : R :=
  least + total K (fun k => c k / 2 * dot n (e k) (fun i => h i - m i) ^ 2).
Definition bowl_slope (n K : nat) (c : nat -> R) (e : nat -> nat -> R) (m h : nat -> R) (i : nat) : R :=
  total K (fun k => c k * dot n (e k) (fun i => h i - m i) * e k i).

Lemma bowl_gradient n K c e m least : is_gradient n (bowl n K c e m least) (bowl_slope n K c e m).
Proof.
intros x d. unfold bowl, bowl_slope. rewrite dot_sym, dot_total.
replace (total K _) with (0 + total K (fun k => c k * dot n (e k) (fun i => x i - m i) * dot n (e k) d)).
2: { rewrite Rplus_0_l. apply total_ext. intros k _. rewrite dot_right_times, (dot_sym n d). reflexivity. }
apply (is_derive_plus (fun _ => least)). apply (is_derive_const (K := R_AbsRing) (V := R_NormedModule)).
apply (derive_total K (fun k t => c k / 2 * dot n (e k) (fun i => x i + t * d i - m i) ^ 2)).
intros k _. apply (is_derive_ext (fun t => c k / 2 * (dot n (e k) (fun i => x i - m i) + t * dot n (e k) d) ^ 2)).
- intros t. rewrite <- dot_right_times, <- dot_right_plus. do 3 f_equal. apply functional_extensionality. intros; ring.
- auto_derive; [trivial | field].
Qed.

(* UF-E21: a step of descent multiplies each coordinate of the distance from the minimum by 1 - eta c *)
Theorem UF_E21 n K c e m least eta j : (forall k l, (k < K)%nat -> (l < K)%nat -> dot n (e k) (e l) = unit_at k l) ->
  (forall k, (k < K)%nat -> 0 < c k) -> (exists k, (k < K)%nat /\ dot n (e k) m <> 0) ->
  let F := bowl n K c e m least in let G := bowl_slope n K c e m in
  is_gradient n F G /\ (forall h, F m <= F h) /\ F m = least /\
  (F (descended G eta j (fun _ => 0)) - least) / (F (fun _ => 0) - least)
  = total K (fun k => c k * (1 - eta * c k) ^ (2 * j) * dot n (e k) m ^ 2) / total K (fun k => c k * dot n (e k) m ^ 2).
Proof.
intros O C (k0 & K0 & N0) F G.
assert (M : F m = least).
{ unfold F, bowl. rewrite (total_ext K _ (fun _ => 0)). rewrite total_const; ring.
  intros k _. replace (dot n (e k) (fun i => m i - m i)) with 0. field. rewrite dot_right_minus. ring. }
split; [apply bowl_gradient | split; [|split; [exact M|]]].
- intros h. rewrite M. unfold F, bowl. enough (0 <= total K (fun k => c k / 2 * dot n (e k) (fun i => h i - m i) ^ 2)) by lra.
  apply total_positive. intros k Hk. apply Rmult_le_pos; [generalize (C k Hk); lra | apply pow2_ge_0].
- assert (S : forall h k, (k < K)%nat -> dot n (e k) (fun i => descended G eta j h i - m i)
                                         = (1 - eta * c k) ^ j * dot n (e k) (fun i => h i - m i)).
  { clear k0 K0 N0. induction j as [|j IH]; intros h k Hk; simpl; [ring|].
    rewrite IH by exact Hk. rewrite !dot_right_minus, dot_right_times. unfold G, bowl_slope.
    rewrite dot_total. rewrite (total_ext K _ (fun l => unit_at k l * (c l * dot n (e l) (fun i => h i - m i)))).
    2: { intros l Hl. rewrite dot_right_times, O by assumption. ring. }
    rewrite total_unit by exact Hk. rewrite !dot_right_minus. ring. }
  unfold F, bowl.
  rewrite (total_ext K (fun k => c k / 2 * dot n (e k) (fun i => descended G eta j (fun _ => 0) i - m i) ^ 2)
    (fun k => / 2 * (c k * (1 - eta * c k) ^ (2 * j) * dot n (e k) m ^ 2))).
  2: { intros k Hk. rewrite S by exact Hk. rewrite dot_right_minus.
       rewrite dot_right_zero.
       rewrite pow_mult, <- (pow_mult _ 2 j), (Nat.mul_comm 2 j), pow_mult. field. }
  rewrite (total_ext K (fun k => c k / 2 * dot n (e k) (fun i => 0 - m i) ^ 2) (fun k => / 2 * (c k * dot n (e k) m ^ 2))).
  2: { intros k Hk. rewrite (dot_right_minus n (e k) (fun _ => 0)).
       rewrite dot_right_zero.
       field. }
  rewrite !total_times.
  assert (0 < total K (fun k => c k * dot n (e k) m ^ 2)).
  { apply Rlt_le_trans with (c k0 * dot n (e k0) m ^ 2).
    - apply Rmult_lt_0_compat. apply C, K0. rewrite <- Rsqr_pow2. apply Rsqr_pos_lt, N0.
    - apply (total_part K (fun k => c k * dot n (e k) m ^ 2)); [|exact K0]. intros k Hk.
      apply Rmult_le_pos; [generalize (C k Hk); lra | apply pow2_ge_0]. }
  field. lra.
Qed.

(* UF-E26-mean; M is at least the length of every update, for instance the greatest *)
Theorem UF_E26_mean n K (h : nat -> nat -> R) M : let mean := fun i => total K (fun k => h k i) / INR K in
  (0 < K)%nat -> 0 < size n mean -> (forall k, (k < K)%nat -> 0 < size n (h k) <= M) ->
  0 < size n mean / M /\ exists k, (k < K)%nat /\ size n mean / M <= dot n mean (h k) / (size n mean * size n (h k)).
Proof.
intros mean P Q H. assert (PM : 0 < M) by (generalize (H 0%nat P); lra). split. apply Rdiv_lt_0_compat; assumption.
assert (S : total K (fun k => dot n mean (h k)) = total K (fun k => size n mean ^ 2)).
{ rewrite <- dot_total, total_const. replace (size n mean ^ 2) with (dot n mean mean) by (rewrite <- size_square; ring).
  rewrite <- dot_right_times. f_equal. apply functional_extensionality. intros i. unfold mean. field. apply not_0_INR. lia. }
destruct (total_somewhere K (fun k => dot n mean (h k)) (fun _ => size n mean ^ 2) P) as (k & Hk & A); [rewrite S;
  apply Rle_refl|].
exists k. split; [exact Hk|]. destruct (H k Hk) as (B & C).
apply Rle_trans with (size n mean ^ 2 / (size n mean * size n (h k))).
- replace (size n mean ^ 2 / (size n mean * size n (h k))) with (size n mean * / size n (h k)) by (field; lra).
  apply Rmult_le_compat_l. lra. apply Rinv_le_contravar; assumption.
- apply Rmult_le_compat_r; [|exact A]. left. apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption.
Qed.

(* The repairs of (26) lie in [0, 1]; top is the greatest of the K values. *)
Definition repaired (own top : R) : R := if Rlt_dec 0 top then 1 - own / top else 0.

Lemma repaired_between own top : 0 <= own <= top -> 0 <= repaired own top <= 1.
Proof.
intros H. unfold repaired. destruct (Rlt_dec 0 top) as [P|P]; [|lra].
assert (0 <= own / top) by (apply Rdiv_le_0_compat; lra).
assert (own / top <= 1) by (apply (Rmult_le_reg_r top); [exact P | unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra]). lra.
Qed.

Theorem UF_E26_clip K (s : nat -> R) top k : (forall l, (l < K)%nat -> Rmax 0 (s l) <= top) ->
  (exists l, (l < K)%nat /\ top = Rmax 0 (s l)) -> (k < K)%nat -> Rabs (repaired (Rmax 0 (s k)) top - 1 / 2) <= 1 / 2.
Proof.
intros H _ P. generalize (repaired_between (Rmax 0 (s k)) top (conj (Rmax_l _ _) (H k P))). intros B. apply Rabs_le. lra.
Qed.

Theorem UF_E26_shift K (s : nat -> R) top k : (forall l, (l < K)%nat -> -1 <= s l <= 1 /\ s l <= top) ->
  (exists l, (l < K)%nat /\ top = s l) -> (k < K)%nat -> Rabs (repaired (1 + s k) (1 + top) - 1 / 2) <= 1 / 2.
Proof.
intros H _ P. destruct (H k P) as (A & B). generalize (repaired_between (1 + s k) (1 + top) ltac:(lra)). intros C.
apply Rabs_le. lra.
Qed.

(* UF-E29*: a weighted fit of the model to at least two different energies finds its parameters *)
Theorem UF_E29_star n (energy : nat -> R) beta_1 beta_2 : 0 < beta_1 -> 0 < beta_2 ->
  (exists i k, (i < n)%nat /\ (k < n)%nat /\ energy i <> energy k) ->
  let data m := beta_1 * exp (- energy m / beta_2) in
  let misfit b1 b2 := total n (fun m => data m ^ 2 * (ln (data m) - ln b1 + energy m / b2) ^ 2) in
  (forall b1 b2, misfit beta_1 beta_2 <= misfit b1 b2) /\
  forall b1 b2, 0 < b1 -> b2 <> 0 -> (forall c1 c2, 0 < c1 -> c2 <> 0 -> misfit b1 b2 <= misfit c1 c2) ->
  b1 = beta_1 /\ b2 = beta_2.
Proof.
intros P1 P2 (i & k & Hi & Hk & D) data misfit.
assert (L : forall m, ln (data m) = ln beta_1 - energy m / beta_2).
{ intros m. unfold data. rewrite ln_mult, ln_exp by (try apply exp_pos; assumption). field. lra. }
assert (Z : misfit beta_1 beta_2 = 0).
{ unfold misfit. rewrite (total_ext n _ (fun _ => 0)). rewrite total_const; ring. intros m _. rewrite L. ring. }
assert (N : forall b1 b2 m, 0 <= data m ^ 2 * (ln (data m) - ln b1 + energy m / b2) ^ 2).
{ intros. apply Rmult_le_pos; apply pow2_ge_0. }
split.
- intros. rewrite Z. apply total_positive. intros. apply N.
- intros b1 b2 B1 B2 best. specialize (best beta_1 beta_2 P1 ltac:(lra)). rewrite Z in best.
  assert (A : forall m, (m < n)%nat -> ln beta_1 - energy m / beta_2 - ln b1 + energy m / b2 = 0).
  { intros m Hm. generalize (total_part n _ m (fun m _ => N b1 b2 m) Hm). intros Q. fold (misfit b1 b2) in Q.
    generalize (N b1 b2 m). intros Q0. rewrite L in Q, Q0.
    assert (0 < data m) by (apply Rmult_lt_0_compat; [exact P1 | apply exp_pos]).
    assert (0 < data m ^ 2) by (apply pow_lt; assumption).
    destruct (Req_dec (ln beta_1 - energy m / beta_2 - ln b1 + energy m / b2) 0) as [E|E]; [exact E | exfalso].
    assert (0 < (ln beta_1 - energy m / beta_2 - ln b1 + energy m / b2) ^ 2) by (rewrite <- Rsqr_pow2; apply Rsqr_pos_lt, E).
    nra. }
  assert (S : / b2 = / beta_2).
  { generalize (A i Hi) (A k Hk). unfold Rdiv. intros X Y. apply Rminus_diag_uniq.
    apply (Rmult_eq_reg_l (energy i - energy k)); lra. }
  assert (b2 = beta_2) by (rewrite <- (Rinv_inv b2), S, Rinv_inv; reflexivity).
  split; [|assumption]. apply ln_inv; try assumption. generalize (A i Hi). subst b2. lra.
Qed.

(* A device: computing takes the energy x P_cp in the time x; sending in the time t needs Z nats a symbol, a = V log(2) /
   band, at the gain g, the efficiency rho of the amplifier and the power P_cir of the circuit. *)
Section Device.
Variables (P_cp P_cir rho g V band beta_1 beta_2 varrho : R).
Hypotheses (compute_positive : 0 < P_cp) (rho_positive : 0 < rho) (gain_positive : 0 < g) (band_positive : 0 < band).
Hypotheses (beta_1_positive : 0 < beta_1) (beta_2_positive : 0 < beta_2).

Definition nats (t : R) : R := V * ln 2 / (band * t).
Definition spent (x t : R) : R := P_cp * x + t * ((exp (nats t) - 1) / g / rho + P_cir).
Definition utility (x t : R) : R := beta_1 - beta_1 * exp (- (P_cp * x) / beta_2) - spent x t * (spent x t - varrho).

(* (x, t) is best within the deadline T and the bounds *)
Definition optimal (x_min t_min T x t : R) : Prop :=
  x_min <= x /\ t_min <= t /\ x + t <= T /\
  forall x' t', x_min <= x' -> t_min <= t' -> x' + t' <= T -> utility x' t' <= utility x t.

(* what another second of sending saves: m' *)
Definition saving (t : R) : R := ((nats t - 1) * exp (nats t) - (rho * g * P_cir - 1)) / (rho * g).

Lemma along_edge T x : x < T -> is_derive (fun u => spent u (T - u)) x (P_cp + saving (T - x)).
Proof.
intros H. unfold spent, saving, nats. auto_derive.
- repeat split; try lra. apply Rmult_integral_contrapositive_currified; lra.
- set (e := exp _). replace (exp (V * ln 2 / (band * (T - x)))) with e. 2: { unfold e. f_equal. }
  field. repeat split; lra.
Qed.

Lemma utility_along_edge T x : x < T -> is_derive (fun u => utility u (T - u)) x
  (beta_1 / beta_2 * P_cp * exp (- (P_cp * x) / beta_2) - (2 * spent x (T - x) - varrho) * (P_cp + saving (T - x))).
Proof.
intros H. generalize (along_edge T x H). intros D. unfold utility.
replace (_ - _) with (minus (beta_1 / beta_2 * P_cp * exp (- (P_cp * x) / beta_2))
  (plus (mult (P_cp + saving (T - x)) (spent x (T - x) - varrho)) (mult (spent x (T - x)) (P_cp + saving (T - x)))))
  by (unfold minus, plus, opp, mult; simpl; unfold mult; simpl; ring).
apply (is_derive_minus (fun u => beta_1 - beta_1 * exp (- (P_cp * u) / beta_2))
  (fun u => spent u (T - u) * (spent u (T - u) - varrho))).
- auto_derive; [trivial | unfold Rdiv; ring].
- apply (is_derive_mult (fun u => spent u (T - u)) (fun u => spent u (T - u) - varrho)); [exact D | | intros; apply Rmult_comm].
  replace (P_cp + saving (T - x)) with (minus (P_cp + saving (T - x)) 0) by (unfold minus, plus, opp; simpl; ring).
  apply (is_derive_minus (fun u => spent u (T - u)) (fun _ => varrho)). exact D.
  apply (is_derive_const (K := R_AbsRing) (V := R_NormedModule)).
Qed.

(* at the greatest value between two ends the derivative vanishes *)
Lemma stationary x_min t_min T x t : 0 < t_min -> optimal x_min t_min T x t -> x + t = T -> x_min < x -> t_min < t ->
  beta_1 / beta_2 * P_cp * exp (- (P_cp * x) / beta_2) = (2 * spent x t - varrho) * (P_cp + saving t).
Proof.
intros M (X & Y & D & best) edge A C. replace t with (T - x) in * by lra.
generalize (utility_along_edge T x ltac:(lra)). set (slope := _ - _). intros S. apply is_derive_Reals in S.
enough (slope = 0) by (unfold slope in *; lra).
generalize (deriv_maximum (fun u => utility u (T - u)) x_min (T - t_min) x (exist _ slope S) A ltac:(lra)). simpl. intros K.
apply K.
intros u U U'. apply best; lra.
Qed.

Theorem UF_E39 x_min t_min T x t : 0 < t_min -> optimal x_min t_min T x t -> x + t = T -> x_min < x -> t_min < t ->
  let Z := nats t in let b := ln 2 / (rho * g * band) in let c := rho * g * P_cir - 1 in
  (2 * spent x t - varrho) * (band * b / (P_cp * ln 2) * ((Z - 1) * exp Z - c) + 1)
  = beta_1 / beta_2 * exp (- (P_cp * x) / beta_2).
Proof.
intros M O edge A C Z b c. generalize (stationary x_min t_min T x t M O edge A C). intros S.
apply (Rmult_eq_reg_l P_cp); [|lra]. replace (P_cp * (beta_1 / beta_2 * exp (- (P_cp * x) / beta_2)))
  with (beta_1 / beta_2 * P_cp * exp (- (P_cp * x) / beta_2)) by ring. rewrite S.
assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
unfold saving, b, c. fold Z. field. lra.
Qed.

Theorem UF_F2_star x_min t_min T x t : 0 < t_min -> optimal x_min t_min T x t -> x + t = T -> x_min < x -> t_min < t ->
  let y := P_cp * x in
  spent x t - varrho / 2 = beta_1 / (2 * beta_2) * (exp (- y / beta_2) / (1 + saving t / P_cp)).
Proof.
intros M O edge A C y. generalize (stationary x_min t_min T x t M O edge A C). fold y. intros S.
assert (P : 0 < beta_1 / beta_2 * P_cp * exp (- y / beta_2)).
{ apply Rmult_lt_0_compat; [|apply exp_pos]. apply Rmult_lt_0_compat; [|assumption]. apply Rdiv_lt_0_compat; assumption. }
assert (N : P_cp + saving t <> 0) by (intros N; rewrite N, Rmult_0_r in S; lra).
apply (Rmult_eq_reg_r (2 * (P_cp + saving t))); [|lra].
replace ((spent x t - varrho / 2) * (2 * (P_cp + saving t))) with ((2 * spent x t - varrho) * (P_cp + saving t)) by field.
rewrite <- S. field. repeat split; lra.
Qed.

(* the energy is convex: it lies above its tangent planes *)
Lemma spent_tangent x t x' t' : 0 < t -> 0 < t' -> spent x t + P_cp * (x' - x) - saving t * (t' - t) <= spent x' t'.
Proof.
intros H H'. unfold spent, saving.
assert (Q : exp (nats t) * (1 + (nats t' - nats t)) <= exp (nats t')).
{ replace (nats t') with (nats t + (nats t' - nats t)) at 2 by ring. rewrite exp_plus.
  apply Rmult_le_compat_l. left; apply exp_pos. apply exp_ineq1_le. }
assert (Z : nats t * t = nats t' * t') by (unfold nats; field; lra).
apply (Rmult_le_compat_l (t' / (rho * g))) in Q.
2: { left. apply Rdiv_lt_0_compat. exact H'. apply Rmult_lt_0_compat; assumption. }
replace (nats t') with (nats t * t / t') in Q at 1 by (rewrite Z; field; lra).
set (e := exp (nats t)) in *. set (e' := exp (nats t')) in *. apply Rminus_le. apply Rle_minus in Q.
apply Rle_trans with (2 := Q). right. field. lra.
Qed.

Definition learned (x : R) : R := beta_1 - beta_1 * exp (- (P_cp * x) / beta_2).
Definition slope_learned (x : R) : R := beta_1 / beta_2 * P_cp * exp (- (P_cp * x) / beta_2).

Lemma learned_tangent x x' : learned x' <= learned x + slope_learned x * (x' - x).
Proof.
unfold learned, slope_learned. set (z := - (P_cp * x) / beta_2).
replace (- (P_cp * x') / beta_2) with (z + - (P_cp * (x' - x)) / beta_2) by (unfold z; field; lra). rewrite exp_plus.
generalize (exp_ineq1_le (- (P_cp * (x' - x)) / beta_2)) (exp_pos z). intros A B.
apply Rmult_le_compat_l with (r := beta_1 * exp z) in A; [|nra].
replace (beta_1 * exp z * (1 + - (P_cp * (x' - x)) / beta_2)) with
  (beta_1 * exp z - beta_1 / beta_2 * P_cp * exp z * (x' - x)) in A by (field; lra).
lra.
Qed.

Lemma learned_rises x x' : x <= x' -> learned x <= learned x'.
Proof.
intros H. generalize (learned_tangent x' x). intros A. assert (0 <= slope_learned x' * (x' - x)); [|lra].
apply Rmult_le_pos; [|lra]. unfold slope_learned. apply Rmult_le_pos; [|left; apply exp_pos].
apply Rmult_le_pos; [|lra]. left. apply Rdiv_lt_0_compat; assumption.
Qed.

Theorem UF_T2_star_bound x_min t_min T x t x' t' : 0 < t_min ->
  x_min <= x -> t_min <= t -> x + t <= T -> x_min <= x' -> t_min <= t' -> x' + t' <= T ->
  let half := varrho / 2 in
  let excess := Rmax 0 (spent x t - half) in
  let dx := slope_learned x - 2 * excess * P_cp in  (* the gradient of the relaxed utility *)
  let dt := 2 * excess * saving t in
  let step v w := dx * (v - x) + dt * (w - t) in
  let first := Rmax (step (T - t_min) t_min) (Rmax (step x_min t_min) (step x_min (T - x_min))) + Rmax 0 (half - spent x t) ^ 2 in
  let shortfall := Rmax 0 (half - Rmax (spent (T - t_min) t_min) (spent x_min (T - x_min))) in
  let second := learned (T - t_min) - shortfall ^ 2 - learned x + (spent x t - half) ^ 2 in
  utility x' t' <= utility x t + Rmin first second.
Proof.
intros M H1 H2 H3 H1' H2' H3' half excess dx dt step first shortfall second.
set (D := T - x_min - t_min).
(* what is affine on the triangle is a mean of its values at the vertices *)
assert (mixed : forall a b m, a * (T - t_min) + b * t_min <= m -> a * x_min + b * t_min <= m ->
  a * x_min + b * (T - x_min) <= m ->
  a * x' + b * t' <= m).
{ intros a b m A B C. destruct (Req_dec D 0) as [E | E].
  - replace x' with x_min by (unfold D in E; lra). replace t' with t_min by (unfold D in E; lra). exact B.
  - assert (0 < D) by (unfold D in *; lra). apply (Rmult_le_reg_l D). assumption.
    apply Rle_trans with ((x' - x_min) * (a * (T - t_min) + b * t_min) + (T - x' - t') * (a * x_min + b * t_min)
      + (t' - t_min) * (a * x_min + b * (T - x_min))).
    + right. unfold D. ring.
    + replace (D * m) with ((x' - x_min) * m + (T - x' - t') * m + (t' - t_min) * m) by (unfold D; ring).
      repeat apply Rplus_le_compat; apply Rmult_le_compat_l; lra. }
assert (U : forall x t, utility x t = learned x - (spent x t - half) ^ 2 + half ^ 2) by (intros;
  unfold utility, learned, half; field).
rewrite !U. enough (learned x' - (spent x' t' - half) ^ 2 - (learned x - (spent x t - half) ^ 2) <= Rmin first second) by lra.
apply Rmin_case.
- assert (A : step x' t' <= first - Rmax 0 (half - spent x t) ^ 2).
  { unfold first. set (m := Rmax (step (T - t_min) t_min) _). replace (m + _ - _) with m by ring.
    assert (m1 : step (T - t_min) t_min <= m) by apply Rmax_l.
    assert (m2 : step x_min t_min <= m) by (eapply Rle_trans; [|apply Rmax_r]; apply Rmax_l).
    assert (m3 : step x_min (T - x_min) <= m) by (eapply Rle_trans; [|apply Rmax_r]; apply Rmax_r).
    enough (dx * x' + dt * t' <= m + dx * x + dt * t) by (unfold step; lra).
    apply mixed; unfold step in *; lra. }
  generalize (spent_tangent x t x' t' ltac:(lra) ltac:(lra)) (learned_tangent x x'). intros B C.
  set (e := spent x t) in *. set (e' := spent x' t') in *.
  assert (X : 0 <= excess) by apply Rmax_l.
  assert (2 * excess * (P_cp * (x' - x) - saving t * (t' - t)) <= 2 * excess * (e' - e)) by (apply Rmult_le_compat_l; lra).
  assert (Y : excess ^ 2 + 2 * excess * (e' - e) <= (e' - half) ^ 2).
  { unfold excess in *. destruct (Rle_lt_dec (e - half) 0) as [L|L].
    - rewrite Rmax_left by exact L. generalize (pow2_ge_0 (e' - half)). lra.
    - rewrite Rmax_right by lra. generalize (pow2_ge_0 (e' - e)). nra. }
  assert (W : (e - half) ^ 2 = excess ^ 2 + Rmax 0 (half - e) ^ 2).
  { unfold excess. destruct (Rle_lt_dec (e - half) 0) as [L|L].
    - rewrite Rmax_left by exact L. rewrite Rmax_right by lra. ring.
    - rewrite Rmax_right by lra. rewrite Rmax_left by lra. ring. }
  rewrite W. unfold step, dx, dt in A. lra.
- assert (A : learned x' <= learned (T - t_min)) by (apply learned_rises; lra).
  assert (P : spent x_min t_min <= spent (T - t_min) t_min) by (unfold spent; nra).
  set (top := Rmax (spent (T - t_min) t_min) (spent x_min (T - x_min))) in *.
  assert (B : spent x' t' <= top).
  { generalize (spent_tangent x' t' (T - t_min) t_min ltac:(lra) M) (spent_tangent x' t' x_min t_min ltac:(lra) M)
      (spent_tangent x' t' x_min (T - x_min) ltac:(lra) ltac:(lra)) (Rmax_l (spent (T - t_min) t_min) (spent x_min (T - x_min)))
      (Rmax_r (spent (T - t_min) t_min) (spent x_min (T - x_min))). fold top. intros B1 B2 B3 B4 B5.
    enough (P_cp * x' + - saving t' * t' <= top - spent x' t' + P_cp * x' - saving t' * t') by lra.
    apply mixed; lra. }
  assert (shortfall ^ 2 <= (spent x' t' - half) ^ 2).
  { unfold shortfall. destruct (Rle_lt_dec (half - top) 0) as [L|L].
    - rewrite Rmax_left by exact L. generalize (pow2_ge_0 (spent x' t' - half)). lra.
    - rewrite Rmax_right by lra. replace ((spent x' t' - half) ^ 2) with ((half - spent x' t') ^ 2) by ring. apply pow_incr.
      lra. }
  unfold second. lra.
Qed.
End Device.

(* UF-L1*: psi and the energy en rise with the computing time, and are continuous *)
Theorem UF_L1_star (psi : R -> R) (en : R -> R -> R) varrho x_min t_min T x t :
  (forall u v, x_min <= u -> u < v -> psi u < psi v) ->
  (forall u v w, x_min <= u -> u < v -> t_min <= w -> en u w < en v w) ->
  (forall u w, x_min <= u -> t_min <= w -> continuity_2d_pt en u w) ->
  let utility u w := psi u - en u w * (en u w - varrho) in
  x_min <= x -> t_min <= t -> x + t <= T ->
  (forall u w, x_min <= u -> t_min <= w -> u + w <= T -> utility u w <= utility x t) ->
  varrho / 2 <= en (T - t_min) t_min -> varrho / 2 <= en x t.
Proof.
intros psi_rises en_rises en_continuous utility X Y D best top. apply Rnot_lt_le. intros low.
assert (better : forall u w, x < u -> t_min <= w -> u + w <= T -> en x t <= en u w <= varrho / 2 -> False).
{ intros u w U W S E. generalize (best u w ltac:(lra) W S) (psi_rises x u X U). unfold utility. nra. }
destruct (Rle_lt_or_eq_dec _ _ D) as [slack | edge].
- destruct (en_continuous x t X Y (mkposreal _ (Rlt_Rminus _ _ low))) as (d & C). simpl in C.
  assert (P : 0 < Rmin (d / 2) (T - x - t)) by (apply Rmin_case; generalize (cond_pos d); lra).
  set (h := Rmin (d / 2) (T - x - t)) in *.
  assert (h <= d / 2) by apply Rmin_l. assert (h <= T - x - t) by apply Rmin_r.
  apply (better (x + h) t); try lra. generalize (en_rises x (x + h) t X ltac:(lra) Y). intros R.
  specialize (C (x + h) t). replace (x + h - x) with h in C by ring. rewrite Rminus_eq_0, Rabs_R0, (Rabs_pos_eq h) in C by lra.
  specialize (C ltac:(generalize (cond_pos d); lra) (cond_pos d)). apply Rabs_def2 in C. lra.
- replace t with (T - x) in * by lra.
  destruct (Rle_lt_or_eq_dec _ _ top) as [above | at_target].
  + destruct (IVT_interv (fun u => en u (T - u) - varrho / 2) x (T - t_min)) as (u & (U1 & U2) & U3).
    * intros u U. apply continuity_pt_minus; [|apply continuity_pt_const; intros ? ?; reflexivity].
      apply continuity_pt_locally. intros eps. destruct (en_continuous u (T - u) ltac:(lra) ltac:(lra) eps) as (d & C).
      exists d. intros v B. change (Rabs (v - u) < d) in B. apply C; [exact B|].
      replace (T - v - (T - u)) with (- (v - u)) by ring. rewrite Rabs_Ropp. exact B.
    * apply Rnot_le_lt. intros E. assert (x = T - t_min) by lra. subst x.
      replace (T - (T - t_min)) with t_min in low by ring. lra.
    * lra.
    * replace (T - (T - t_min)) with t_min by ring. lra.
    * apply (better u (T - u)); try lra. destruct (Rle_lt_or_eq_dec _ _ U1) as [L|L]; [exact L|]. subst u. lra.
  + apply (better (T - t_min) t_min); try lra.
    apply Rnot_le_lt. intros E. assert (x = T - t_min) by lra. subst x. replace (T - (T - t_min)) with t_min in low by ring. lra.
Qed.

(* a device is an instance *)
Lemma device_energy_rises P_cp P_cir rho g V band u v t : 0 < P_cp -> u < v ->
  spent P_cp P_cir rho g V band u t < spent P_cp P_cir rho g V band v t.
Proof. intros P H. unfold spent. apply (Rmult_lt_compat_l P_cp) in H; lra. Qed.

Lemma device_energy_continuous P_cp P_cir rho g V band x t : 0 < band -> 0 < t ->
  continuity_2d_pt (spent P_cp P_cir rho g V band) x t.
Proof.
intros W H. unfold spent.
apply (continuity_2d_pt_plus (fun x _ => P_cp * x) (fun _ t => t * ((exp (nats V band t) - 1) / g / rho + P_cir))).
- apply (continuity_2d_pt_mult (fun _ _ => P_cp) (fun x _ => x)). apply continuity_2d_pt_const. apply continuity_2d_pt_id1.
- set (h := fun t => t * ((exp (nats V band t) - 1) / g / rho + P_cir)).
  refine (continuity_1d_2d_pt_comp h (fun _ t => t) x t _ (continuity_2d_pt_id2 x t)).
  apply continuity_pt_filterlim. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold h, nats. auto_derive.
  apply Rmult_integral_contrapositive_currified; lra.
Qed.

(* The gradient is co-coercive, so that a step of descent contracts. *)
Lemma cocoercive n mu L F G x y : mu < L -> smooth n mu L F G ->
  let dx := fun i => x i - y i in let dg := fun i => G x i - G y i in
  mu * L * dot n dx dx + dot n dg dg <= (L + mu) * dot n dg dx.
Proof.
intros H C dx dg. generalize (interpolated n mu L F G C x y H) (interpolated n mu L F G C y x H).
set (A := total n _). set (B := total n _). intros HA HB.
assert (S : A + B <= 0) by lra. apply Rminus_le. apply (Rmult_le_reg_l (/ (L - mu))). apply Rinv_0_lt_compat; lra.
rewrite Rmult_0_r. apply Rle_trans with (2 := S). right. unfold A, B, dot, dx, dg. gather. apply total_ext. intros i _.
field. lra.
Qed.

(* Baillon and Haddad, for convex functions *)
Theorem UF_E47 n L F G x y : 0 < L -> smooth n 0 L F G ->
  dot n (fun i => G x i - G y i) (fun i => G x i - G y i) <= L * dot n (fun i => x i - y i) (fun i => G x i - G y i).
Proof.
intros H C. generalize (cocoercive n 0 L F G x y H C). cbv zeta.
rewrite (dot_sym n (fun i => x i - y i) (fun i => G x i - G y i)). lra.
Qed.

Lemma monotone n mu L F G x y : smooth n mu L F G ->
  mu * dot n (fun i => x i - y i) (fun i => x i - y i) <= dot n (fun i => G x i - G y i) (fun i => x i - y i).
Proof.
intros (_ & _ & C). generalize (C x y) (C y x). intros HA HB. apply Rminus_le.
apply Rle_trans with (dot n (G x) (fun i => y i - x i) + mu / 2 * dot n (fun i => y i - x i) (fun i => y i - x i)
  + (dot n (G y) (fun i => x i - y i) + mu / 2 * dot n (fun i => x i - y i) (fun i => x i - y i))); [|lra].
right. unfold dot. gather. apply total_ext. intros. field.
Qed.

Lemma step_contracts n mu L F G eta x y : 0 < mu <= L -> smooth n mu L F G -> 0 < eta <= 2 / (mu + L) ->
  size n (fun i => (x i - eta * G x i) - (y i - eta * G y i)) <= (1 - eta * mu) * size n (fun i => x i - y i).
Proof.
intros H C E. assert (T : eta * (mu + L) <= 2).
{ destruct E as (_ & E). apply (Rmult_le_compat_r (mu + L)) in E; [|lra].
  replace (2 / (mu + L) * (mu + L)) with 2 in E by (field; lra). exact E. }
set (dx := fun i => x i - y i). set (dg := fun i => G x i - G y i).
generalize (monotone n mu L F G x y C). fold dx dg. intros M.
assert (Q : mu ^ 2 * dot n dx dx <= dot n dg dg).
{ generalize (dot_self n (fun i => dg i - mu * dx i)).
  rewrite !dot_minus, !dot_times, !dot_right_minus, !dot_right_times, (dot_sym n dx dg). nra. }
assert (K : 0 <= 1 - eta * mu) by nra.
assert (S : size n (fun i => (1 - eta * mu) * dx i) = (1 - eta * mu) * size n dx).
{ unfold size. rewrite dot_times, dot_right_times, <- Rmult_assoc, sqrt_mult_alt by nra. rewrite sqrt_square by exact K.
  reflexivity. }
rewrite <- S. apply sqrt_le_1_alt.
replace (fun i => (x i - eta * G x i) - (y i - eta * G y i)) with (fun i => dx i - eta * dg i)
  by (apply functional_extensionality; intros; unfold dx, dg; ring).
rewrite !dot_minus, !dot_times, !dot_right_minus, !dot_right_times, (dot_sym n dx dg).
set (D := dot n dx dx) in *. set (P := dot n dg dx) in *. set (N := dot n dg dg) in *.
assert (Z : 0 <= D) by apply dot_self.
destruct (Req_dec mu L) as [same | differ].
- assert (N <= mu ^ 2 * D).
  { destruct C as (_ & Lip & _). specialize (Lip x y). fold dx dg in Lip. unfold N, D. rewrite <- !size_square, same.
    generalize (size_positive n dg) (size_positive n dx). nra. }
  nra.
- generalize (cocoercive n mu L F G x y ltac:(lra) C). cbv zeta. fold dx dg. fold D P N. intros B.
  assert (0 <= 2 - eta * (mu + L)) by lra.
  assert (U : 0 <= eta * (2 - eta * (mu + L)) * (N - mu ^ 2 * D)) by (repeat apply Rmult_le_pos; lra).
  assert (V : 0 <= 2 * eta * ((L + mu) * P - (mu * L * D + N))) by (repeat apply Rmult_le_pos; lra).
  apply (Rmult_le_reg_l (L + mu)). lra. nra.
Qed.

Lemma size_times n c u : size n (fun i => c * u i) = Rabs c * size n u.
Proof.
unfold size. rewrite dot_times, dot_right_times, <- Rmult_assoc, sqrt_mult_alt by nra.
change (c * c) with (Rsqr c). rewrite sqrt_Rsqr_abs. reflexivity.
Qed.

Lemma size_minus n u v : size n (fun i => u i - v i) <= size n u + size n v.
Proof.
replace (fun i => u i - v i) with (fun i => u i + -1 * v i) by (apply functional_extensionality; intros; ring).
apply Rle_trans with (1 := size_plus n u (fun i => -1 * v i)). rewrite size_times, Rabs_left1 by lra. lra.
Qed.

(* j iterations (10) on the local loss (4) with the gradient g at w; pull is xi / K, and r what the other devices send, times
   xi / K *)
Fixpoint local (g : (nat -> R) -> nat -> R) (w : nat -> R) (pull : R) (r : nat -> R) (eta : R) (j : nat) : nat -> R :=
  match j with
  | O => fun _ => 0
  | S i => fun k => local g w pull r eta i k
                    - eta * (g (fun l => w l + local g w pull r eta i l) k - (1 - pull) * g w k + r k)
  end.

(* Gradients of two local losses, one of d samples replaced, with slopes of length G at most. Either the first loss is of the
   class, or what is left of both without that sample is; then s and s' may be any slopes, as those of a loss with a kink. *)
Definition neighbours (n : nat) (mu L G d : R) (g g' : (nat -> R) -> nat -> R) : Prop :=
  (exists F, smooth n mu L F g /\ forall x, size n (fun i => g x i - g' x i) <= 2 * G / d)
  \/ (exists F rest s s', smooth n mu L F rest /\ (forall x, size n (s x) <= G /\ size n (s' x) <= G)
      /\ g = (fun x i => rest x i + s x i / d) /\ g' = (fun x i => rest x i + s' x i / d)).

Lemma size_over n d u : 0 < d -> size n (fun i => u i / d) = size n u / d.
Proof.
intros H. replace (fun i => u i / d) with (fun i => / d * u i) by (apply functional_extensionality; intros; field; lra).
rewrite size_times, Rabs_pos_eq by (left; apply Rinv_0_lt_compat, H). field. lra.
Qed.

(* one iteration, and what one sample changes in the gradient at w *)
Lemma neighbours_apart n mu L G d g g' eta : 0 < mu <= L -> 0 < eta <= 2 / (mu + L) -> 0 < d -> neighbours n mu L G d g g' ->
  (forall x y, size n (fun i => (x i - eta * g x i) - (y i - eta * g' y i))
    <= (1 - eta * mu) * size n (fun i => x i - y i) + eta * (2 * G / d))
  /\ (forall x, size n (fun i => g x i - g' x i) <= 2 * G / d).
Proof.
intros H E D [(F & C & B) | (F & rest & s & s' & C & B & -> & ->)].
- split; [intros x y | exact B].
  replace (fun i => (x i - eta * g x i) - (y i - eta * g' y i))
    with (fun i => ((x i - eta * g x i) - (y i - eta * g y i)) + - eta * (g y i - g' y i))
      by (apply functional_extensionality; intros; ring).
  apply Rle_trans with (1 := size_plus n _ (fun i => - eta * (g y i - g' y i))).
  rewrite size_times, Rabs_Ropp, Rabs_pos_eq by lra.
  apply Rplus_le_compat. apply (step_contracts n mu L F g eta x y H C E). apply Rmult_le_compat_l. lra. apply B.
- assert (S : forall x y, size n (fun i => s x i / d - s' y i / d) <= 2 * G / d).
  { intros x y. apply Rle_trans with (1 := size_minus n (fun i => s x i / d) (fun i => s' y i / d)).
    rewrite !size_over by exact D.
    destruct (B x) as (B1 & _). destruct (B y) as (_ & B2).
    apply (Rmult_le_reg_r d). exact D. replace (_ * d) with (size n (s x) + size n (s' y)) by (field; lra).
    replace (2 * G / d * d) with (2 * G) by (field; lra). lra. }
  split.
  + intros x y.
    replace (fun i => (x i - eta * (rest x i + s x i / d)) - (y i - eta * (rest y i + s' y i / d)))
      with (fun i => ((x i - eta * rest x i) - (y i - eta * rest y i)) + - eta * (s x i / d - s' y i / d))
      by (apply functional_extensionality; intros; ring).
    apply Rle_trans with (1 := size_plus n _ (fun i => - eta * (s x i / d - s' y i / d))).
    rewrite size_times, Rabs_Ropp, Rabs_pos_eq by lra.
    apply Rplus_le_compat. apply (step_contracts n mu L F rest eta x y H C E). apply Rmult_le_compat_l. lra. apply S.
  + intros x. replace (fun i => rest x i + s x i / d - (rest x i + s' x i / d)) with (fun i => s x i / d - s' x i / d)
      by (apply functional_extensionality; intros; ring). apply S.
Qed.

(* an iteration of both, when the gradients at w weigh 1 - pull *)
Lemma one_iteration n mu L G d g g' eta w pull r h h' : 0 < mu <= L -> 0 < eta <= 2 / (mu + L) -> 0 < d ->
  neighbours n mu L G d g g' ->
  let next g h := fun k => h k - eta * (g (fun l => w l + h l) k - (1 - pull) * g w k + r k) in
  size n (fun k => next g h k - next g' h' k)
    <= (1 - eta * mu) * size n (fun k => h k - h' k) + eta * ((1 + Rabs (1 - pull)) * (2 * G / d)).
Proof.
intros H E D N next. destruct (neighbours_apart n mu L G d g g' eta H E D N) as (S & B).
specialize (S (fun l => w l + h l) (fun l => w l + h' l)). cbv beta in S.
replace (fun i => w i + h i - (w i + h' i)) with (fun i => h i - h' i) in S by (apply functional_extensionality; intros; ring).
replace (fun k => next g h k - next g' h' k) with
  (fun k => (w k + h k - eta * g (fun l => w l + h l) k - (w k + h' k - eta * g' (fun l => w l + h' l) k))
  + eta * (1 - pull) * (g w k - g' w k)) by (apply functional_extensionality; intros; unfold next; ring).
apply Rle_trans with (1 := size_plus n _ (fun k => eta * (1 - pull) * (g w k - g' w k))).
rewrite size_times, Rabs_mult, (Rabs_pos_eq eta) by lra. generalize (B w) (Rabs_pos (1 - pull)). intros B' P.
assert (eta * Rabs (1 - pull) * size n (fun i => g w i - g' w i) <= eta * Rabs (1 - pull) * (2 * G / d)).
{ apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | exact B']. }
lra.
Qed.

Lemma size_zero n : size n (fun _ => 0 - 0) = 0.
Proof. unfold size, dot. rewrite (total_ext n _ (fun _ => 0)) by (intros; ring). rewrite total_const, Rmult_0_r.
apply sqrt_0. Qed.

Theorem UF_E7_star n mu L G d g g' eta w pull r j : 0 < mu <= L -> 0 < eta <= 2 / (mu + L) -> 0 < d -> 0 <= G -> 0 <= pull <= 2 ->
  neighbours n mu L G d g g' ->
  size n (fun k => local g w pull r eta j k - local g' w pull r eta j k) <= 4 * G / (mu * d) * (1 - (1 - eta * mu) ^ j).
Proof.
intros H E D P Q N. induction j as [|j IH].
- simpl. rewrite size_zero. right. ring.
- cbn [local]. apply Rle_trans with (1 := one_iteration n mu L G d g g' eta w pull r _ _ H E D N).
  assert (A : Rabs (1 - pull) <= 1) by (apply Rabs_le; lra).
  assert (B : (1 + Rabs (1 - pull)) * (2 * G / d) <= 2 * (2 * G / d)).
  { apply Rmult_le_compat_r; [|lra]. apply Rdiv_le_0_compat; lra. }
  assert (K : 0 <= 1 - eta * mu).
  { destruct E as (_ & E). apply (Rmult_le_compat_r (mu + L)) in E; [|lra].
    replace (2 / (mu + L) * (mu + L)) with 2 in E by (field; lra). nra. }
  apply Rle_trans with ((1 - eta * mu) * (4 * G / (mu * d) * (1 - (1 - eta * mu) ^ j)) + eta * (2 * (2 * G / d))).
  + apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
  + right. simpl. field. lra.
Qed.

(* the same if what is broadcast is common: then both gradients at w count in full, and cancel at first *)
Theorem UF_E7_star_common mu L G d eta j : 0 < mu <= L -> 0 < eta <= 2 / (mu + L) -> 0 < d -> 0 < G -> (1 <= j)%nat ->
  is_lub (fun S => exists n g g' w r, neighbours n mu L G d g g'
                   /\ S = size n (fun k => local g w 0 r eta j k - local g' w 0 r eta j k))
         (4 * G / (mu * d) * (1 - (1 - eta * mu) ^ (j - 1))).
Proof.
intros H E D P J. destruct j as [|j]; [lia|]. replace (S j - 1)%nat with j by lia. clear J.
assert (K : 0 <= 1 - eta * mu).
{ destruct E as (_ & E). apply (Rmult_le_compat_r (mu + L)) in E; [|lra].
  replace (2 / (mu + L) * (mu + L)) with 2 in E by (field; lra). nra. }
split.
- intros S (n & g & g' & w & r & N & ->). induction j as [|j IH].
  + cbn [local]. replace (fun k => _ - _) with (fun _ : nat => 0 - 0). rewrite size_zero. simpl. right; ring.
    apply functional_extensionality. intros k.
    replace (fun l => w l + 0) with w by (apply functional_extensionality; intros; ring). ring.
  + apply Rle_trans with (1 := one_iteration n mu L G d g g' eta w 0 r _ _ H E D N).
    replace (Rabs (1 - 0)) with 1 by (rewrite Rminus_0_r, Rabs_R1; reflexivity).
    apply Rle_trans with ((1 - eta * mu) * (4 * G / (mu * d) * (1 - (1 - eta * mu) ^ j)) + eta * ((1 + 1) * (2 * G / d))).
    * apply Rplus_le_compat_r. apply Rmult_le_compat_l. exact K. exact IH.
    * right. simpl. field. lra.
- intros b B. apply B.
  (* a loss with a kink beside 0, which the other sample turns around *)
  set (s := fun (x : nat -> R) (_ : nat) => if Rlt_dec 0 (x 0%nat) then G else - G).
  set (s' := fun (x : nat -> R) (_ : nat) => if Rlt_dec 0 (x 0%nat) then - G else G).
  set (g := fun x i => line mu x i + s x i / d). set (g' := fun x i => line mu x i + s' x i / d).
  set (r := fun _ : nat => - (4 * G / d)).
  exists 1%nat, g, g', (fun _ => 0), r. split.
  + right. exists (parabola mu), (line mu), s, s'. split; [apply parabola_smooth; lra | split; [|split; reflexivity]].
    intros x. rewrite !size_1. unfold s, s'. destruct (Rlt_dec 0 (x 0%nat)); rewrite ?Rabs_Ropp, Rabs_pos_eq by lra; lra.
  + rewrite size_1.
    assert (g0 : g (fun _ => 0) 0%nat = - G / d) by (unfold g, s, line; destruct (Rlt_dec 0 0); lra).
    assert (g0' : g' (fun _ => 0) 0%nat = G / d) by (unfold g', s', line; destruct (Rlt_dec 0 0); lra).
    assert (g1 : forall x, 0 < x 0%nat -> g x 0%nat = mu * x 0%nat + G / d).
    { intros x X. unfold g, s, line. destruct (Rlt_dec 0 (x 0%nat)); [reflexivity | contradiction]. }
    assert (g1' : forall x, 0 < x 0%nat -> g' x 0%nat = mu * x 0%nat - G / d).
    { intros x X. unfold g', s', line. destruct (Rlt_dec 0 (x 0%nat)); [unfold Rdiv; ring | contradiction]. }
    set (l := fun i => local g (fun _ => 0) 0 r eta i 0%nat). set (l' := fun i => local g' (fun _ => 0) 0 r eta i 0%nat).
    assert (U : 0 < eta * (G / d)) by (apply Rmult_lt_0_compat; [lra | apply Rdiv_lt_0_compat; lra]).
    assert (first : l 1%nat = 4 * (eta * (G / d)) /\ l' 1%nat = 4 * (eta * (G / d))).
    { unfold l, l'. cbn [local]. replace (fun _ : nat => 0 + 0) with (fun _ : nat => 0) by (apply functional_extensionality;
        intros; ring).
      rewrite g0, g0'. unfold r. split; field; lra. }
    assert (next : forall i, 0 < l i -> l (S i) = (1 - eta * mu) * l i + 2 * (eta * (G / d))).
    { intros i I. transitivity (l i - eta * (g (fun k => 0 + local g (fun _ => 0) 0 r eta i k) 0%nat - (1 - 0) * g
        (fun _ => 0) 0%nat + r 0%nat)).
      reflexivity. rewrite g0, g1 by (rewrite Rplus_0_l; exact I). fold (l i). unfold r. field. lra. }
    assert (next' : forall i, 0 < l' i -> l' (S i) = (1 - eta * mu) * l' i + 6 * (eta * (G / d))).
    { intros i I. transitivity (l' i - eta * (g' (fun k => 0 + local g' (fun _ => 0) 0 r eta i k) 0%nat - (1 - 0) * g'
        (fun _ => 0) 0%nat + r 0%nat)).
      reflexivity. rewrite g0', g1' by (rewrite Rplus_0_l; exact I). fold (l' i). unfold r. field. lra. }
    assert (R : forall i, 0 < l (S i) /\ 0 < l' (S i) /\ l' (S i) - l (S i) = 4 * G / (mu * d) * (1 - (1 - eta * mu) ^ i)).
    { induction i as [|i (I1 & I2 & I3)].
      - destruct first as (-> & ->). simpl. repeat split; lra.
      - rewrite (next (S i) I1), (next' (S i) I2). repeat split; [nra | nra |].
        replace (_ - _) with ((1 - eta * mu) * (l' (S i) - l (S i)) + 4 * (eta * (G / d))) by ring. rewrite I3. simpl. field.
        lra. }
    destruct (R j) as (_ & _ & R3). change (4 * G / (mu * d) * (1 - (1 - eta * mu) ^ j) = Rabs (l (S j) - l' (S j))).
    rewrite Rabs_minus_sym, R3. symmetry. apply Rabs_pos_eq.
    apply Rmult_le_pos; [apply Rdiv_le_0_compat; [lra | apply Rmult_lt_0_compat; lra]|].
    assert ((1 - eta * mu) ^ j <= 1); [|lra].
    assert (0 < eta * mu) by (apply Rmult_lt_0_compat; lra).
    apply Rle_trans with (1 ^ j); [apply pow_incr; lra | rewrite pow1; lra].
Qed.

(* K losses of one class, and their mean *)
Section Rounds.
Variables (n K : nat) (mu L xi : R) (F : nat -> (nat -> R) -> R) (G : nat -> (nat -> R) -> nat -> R).
Hypotheses (devices : (0 < K)%nat) (curved : 0 < mu <= L) (pull : 0 < xi < 2 * mu / L).
Hypothesis losses : forall k, (k < K)%nat -> smooth n mu L (F k) (G k).

Definition mean_loss (w : nat -> R) : R := total K (fun k => F k w) / INR K.
Definition mean_slope (w : nat -> R) (i : nat) : R := total K (fun k => G k w i) / INR K.

Lemma many : 0 < INR K.
Proof. apply lt_0_INR, devices. Qed.

Lemma mean_of_sizes (u : nat -> nat -> R) c : (forall k, (k < K)%nat -> size n (u k) <= c) ->
  size n (fun i => total K (fun k => u k i) / INR K) <= c.
Proof.
intros H. rewrite size_over by apply many. apply (Rmult_le_reg_r (INR K)). apply many.
replace (_ / INR K * INR K) with (size n (fun i => total K (fun k => u k i))) by (field; generalize many; lra).
apply Rle_trans with (1 := size_total n K u). rewrite Rmult_comm, <- total_const. apply total_le, H.
Qed.

Lemma mean_smooth : smooth n mu L mean_loss mean_slope.
Proof.
generalize many. intros N. split; [|split].
- intros x d. unfold mean_loss, mean_slope.
  replace (dot n _ d) with (total K (fun k => dot n (G k x) d) * / INR K).
  2: { rewrite dot_sym. unfold Rdiv. replace (fun i => total K (fun k => G k x i) * / INR K)
         with (fun i => / INR K * total K (fun k => G k x i)) by (apply functional_extensionality; intros; ring).
       rewrite dot_right_times, dot_total, Rmult_comm. f_equal. apply total_ext. intros; apply dot_sym. }
  apply (is_derive_ext (fun t => / INR K * total K (fun k => F k (fun i => x i + t * d i)))).
  intros t; unfold Rdiv; rewrite Rmult_comm; reflexivity.
  rewrite Rmult_comm. apply (is_derive_scal (fun t => total K (fun k => F k (fun i => x i + t * d i)))).
  apply (derive_total K (fun k t => F k (fun i => x i + t * d i))). intros k Hk. apply (proj1 (losses k Hk)).
- intros x y. unfold mean_slope. replace (fun i => total K (fun k => G k x i) / INR K - total K (fun k => G k y i) / INR K)
    with (fun i => total K (fun k => G k x i - G k y i) / INR K)
    by (apply functional_extensionality; intros; rewrite total_minus; field; lra).
  apply (mean_of_sizes (fun k i => G k x i - G k y i)). intros k Hk. apply (proj1 (proj2 (losses k Hk))).
- intros x y. unfold mean_loss. apply (Rmult_le_reg_r (INR K)). exact N.
  replace (total K (fun k => F k y) / INR K * INR K) with (total K (fun k => F k y)) by (field; lra).
  replace (dot n (mean_slope x) _) with (/ INR K * total K (fun k => dot n (G k x) (fun i => y i - x i))).
  2: { unfold mean_slope. rewrite (dot_sym n _ (fun i => y i - x i)). unfold Rdiv.
       replace (fun i => total K (fun k => G k x i) * / INR K) with (fun i => / INR K * total K (fun k => G k x i))
         by (apply functional_extensionality; intros; ring).
       rewrite dot_right_times, dot_total. f_equal. apply total_ext. intros; apply dot_sym. }
  set (c := mu / 2 * dot n (fun i => y i - x i) (fun i => y i - x i)).
  apply Rle_trans with (total K (fun k => F k x + dot n (G k x) (fun i => y i - x i) + c)).
  + right. rewrite !total_plus, total_const. field. lra.
  + apply total_le. intros k Hk. apply (proj2 (proj2 (losses k Hk))).
Qed.

(* h k w solves the local problem (4) of device k exactly: its slope there vanishes (UF-E4) *)
Variable h : nat -> (nat -> R) -> nat -> R.
Hypothesis solved : forall k w i, (k < K)%nat -> (i < n)%nat ->
  G k (fun l => w l + h k w l) i - G k w i + xi * mean_slope w i = 0.

Definition update (w : nat -> R) (i : nat) : R := w i + total K (fun k => h k w i) / INR K.

Variable s : nat -> R.
Hypothesis least : forall y, mean_loss s <= mean_loss y.

Definition kept : R := 1 - 2 * mu * xi / L * (1 - L * xi / (2 * mu)).

Lemma pull_positive : 0 < xi / L * (1 - L * xi / (2 * mu)) /\ 0 < 1 - L * xi / (2 * mu).
Proof.
assert (A : xi * L < 2 * mu).
{ destruct pull as (_ & B). apply (Rmult_lt_compat_r L) in B; [|lra].
  replace (2 * mu / L * L) with (2 * mu) in B by (field; lra). exact B. }
assert (B : L * xi / (2 * mu) < 1).
{ apply (Rmult_lt_reg_r (2 * mu)). lra. replace (L * xi / (2 * mu) * (2 * mu)) with (L * xi) by (field; lra). lra. }
split; [|lra]. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; lra | lra].
Qed.

(* a round without noise *)
Lemma round w : mean_loss (update w) - mean_loss s <= kept * (mean_loss w - mean_loss s).
Proof.
generalize many pull_positive. intros N (P1 & P2). set (g := mean_slope w).
set (S := total K (fun k => dot n (fun i => G k (fun l => w l + h k w l) i - G k w i) (h k w)) / INR K).
assert (inner : forall k, (k < K)%nat -> xi ^ 2 / L * dot n g g
  <= dot n (fun i => G k (fun l => w l + h k w l) i - G k w i) (h k w)
  /\ mu * dot n (h k w) (h k w) <= dot n (fun i => G k (fun l => w l + h k w l) i - G k w i) (h k w)).
{ intros k Hk. generalize (monotone n mu L _ _ (fun l => w l + h k w l) w (losses k Hk)). cbv beta.
  replace (fun i => w i + h k w i - w i) with (h k w) by (apply functional_extensionality; intros; ring). intros A.
  split; [|exact A].
  assert (B : forall k x y, (k < K)%nat -> dot n (fun i => G k x i - G k y i) (fun i => G k x i - G k y i)
      <= L * dot n (fun i => G k x i - G k y i) (fun i => x i - y i)).
  { clear - curved losses. intros k x y Hk. generalize (losses k Hk). intros C.
    assert (C0 : smooth n 0 L (F k) (G k)).
    { destruct C as (C1 & C2 & C3). split; [exact C1 | split; [exact C2|]]. intros a b. apply Rle_trans with (2 := C3 a b).
      generalize (dot_self n (fun i => b i - a i)). nra. }
    generalize (cocoercive n 0 L _ _ x y ltac:(lra) C0). cbv zeta. rewrite Rmult_0_l, Rmult_0_l, Rplus_0_l, Rplus_0_r. trivial. }
  generalize (B k (fun l => w l + h k w l) w Hk). cbv beta.
  replace (fun i => w i + h k w i - w i) with (h k w) by (apply functional_extensionality; intros; ring).
  set (dg := fun i => G k (fun l => w l + h k w l) i - G k w i).
  assert (Q : dot n dg dg = xi ^ 2 * dot n g g).
  { unfold dot. rewrite <- total_times. apply total_ext. intros i Hi. generalize (solved k w i Hk Hi). unfold dg. fold g.
    intros E.
    replace (G k (fun l => w l + h k w l) i - G k w i) with (- xi * g i) by lra. ring. }
  rewrite Q. intros U. apply (Rmult_le_reg_r L). lra.
  replace (xi ^ 2 / L * dot n g g * L) with (xi ^ 2 * dot n g g) by (field; lra). lra. }
assert (S1 : xi ^ 2 / L * dot n g g <= S).
{ unfold S. apply (Rmult_le_reg_r (INR K)). exact N.
  replace (_ / INR K * INR K) with (total K (fun k => dot n (fun i => G k
    (fun l => w l + h k w l) i - G k w i) (h k w))) by (field; lra).
  rewrite Rmult_comm, <- total_const. apply total_le. intros k Hk. apply (inner k Hk). }
set (m := fun i => total K (fun k => h k w i) / INR K).
assert (S2 : mu * dot n m m <= S).
{ (* the square of a mean is at most the mean of the squares *)
  assert (V : 0 <= total K (fun k => dot n (fun i => h k w i - m i) (fun i => h k w i - m i))) by (apply total_positive;
    intros; apply dot_self).
  assert (W : total K (fun k => dot n (fun i => h k w i - m i) (fun i => h k w i - m i))
    = total K (fun k => dot n (h k w) (h k w)) - INR K * dot n m m).
  { rewrite (total_ext K _ (fun k => dot n (h k w) (h k w) + dot n m m - 2 * dot n m (h k w))).
    - rewrite total_minus, total_plus, total_const, total_times, <- dot_total.
      replace (fun i => total K (fun k => h k w i)) with (fun i => INR K * m i) by (apply functional_extensionality; intros;
        unfold m; field; lra).
      rewrite dot_right_times. ring.
    - intros k _. rewrite !dot_minus, !dot_right_minus, (dot_sym n (h k w) m). ring. }
  unfold S. apply (Rmult_le_reg_r (INR K)). exact N.
  replace (_ / INR K * INR K) with (total K (fun k => dot n (fun i => G k
    (fun l => w l + h k w l) i - G k w i) (h k w))) by (field; lra).
  apply Rle_trans with (mu * total K (fun k => dot n (h k w) (h k w))). nra.
  rewrite <- total_times. apply total_le. intros k Hk. apply (inner k Hk). }
assert (S3 : xi * dot n g m = - S).
{ unfold S. apply (Rmult_eq_reg_r (INR K)); [|lra].
  replace (- (_ / INR K) * INR K) with (- total K (fun k => dot n (fun i => G k
    (fun l => w l + h k w l) i - G k w i) (h k w))) by (field; lra).
  rewrite (total_ext K _ (fun k => - xi * dot n g (h k w))).
  - rewrite total_times, <- dot_total. replace (fun i => total K (fun k => h k w i)) with (fun i => INR K * m i)
      by (apply functional_extensionality; intros; unfold m; field; lra). rewrite dot_right_times. ring.
  - intros k Hk. unfold dot. rewrite <- total_times. apply total_ext. intros i Hi. generalize (solved k w i Hk Hi). fold g.
    intros E.
    replace (G k (fun l => w l + h k w l) i - G k w i) with (- xi * g i) by lra. ring. }
generalize (below_quadratic n mu L _ _ mean_smooth w (update w)). unfold update.
replace (fun i => w i + total K (fun k => h k w i) / INR K - w i) with m by (apply functional_extensionality; intros;
  unfold m; ring).
fold g. intros D. change (fun i => w i + total K (fun k => h k w i) / INR K) with (update w) in D |- *.
generalize (slope_at_least n mu L _ _ mean_smooth s w (proj1 curved)). fold g. intros E.
assert (A : mean_loss (update w) - mean_loss w <= - (xi / L * (1 - L * xi / (2 * mu))) * dot n g g).
{ apply Rle_trans with (- (S / xi) * (1 - L * xi / (2 * mu))).
  - assert (L / 2 * dot n m m <= L / (2 * mu) * S).
    { apply Rle_trans with (L / (2 * mu) * (mu * dot n m m)). right; field; lra. apply Rmult_le_compat_l; [|exact S2].
      left. apply Rdiv_lt_0_compat; lra. }
    replace (- (S / xi) * (1 - L * xi / (2 * mu))) with (- (S / xi) + L / (2 * mu) * S) by (field; lra).
    assert (dot n g m = - (S / xi)) by (apply (Rmult_eq_reg_l xi); [rewrite S3; field | ]; lra). lra.
  - assert (xi / L * dot n g g <= S / xi).
    { apply (Rmult_le_reg_r xi). lra. replace (S / xi * xi) with S by (field; lra).
      replace (xi / L * dot n g g * xi) with (xi ^ 2 / L * dot n g g) by (field; lra). exact S1. }
    nra. }
assert (B : xi / L * (1 - L * xi / (2 * mu)) * (2 * mu * (mean_loss w - mean_loss s))
  <= xi / L * (1 - L * xi / (2 * mu)) * dot n g g)
  by (apply Rmult_le_compat_l; lra).
unfold kept. replace (2 * mu * xi / L * (1 - L * xi / (2 * mu))) with
  (xi / L * (1 - L * xi / (2 * mu)) * (2 * mu)) by (field; lra). lra.
Qed.

Theorem UF_E5_star w : let q := 1 - 2 * mu * xi / L * (1 - L * xi / (2 * mu)) in
  mean_loss (update w) - mean_loss s <= q * (mean_loss w - mean_loss s).
Proof. apply round. Qed.

(* The mean over the noise of a round, of mean 0 and mean square v, on the functions that have one: all quadratics are among
   them. *)
Variables (has_mean : ((nat -> R) -> R) -> Prop) (mean : ((nat -> R) -> R) -> R) (v : R).
Hypothesis quadratics : forall a b c, let f := fun u => a + dot n b u + c * dot n u u in has_mean f /\ mean f = a + c * v.
Hypothesis rises : forall f f', has_mean f -> has_mean f' -> (forall u, f u <= f' u) -> mean f <= mean f'.

(* the mean excess after m rounds, which begin at w *)
Fixpoint mean_excess (m : nat) (w : nat -> R) : R :=
  match m with
  | O => mean_loss w - mean_loss s
  | S m => mean (fun u => mean_excess m (fun i => update w i + u i))
  end.
Hypothesis exist : forall m w, has_mean (fun u => mean_excess m (fun i => update w i + u i)).

Theorem UF_Psi_star m w : mean_loss s < mean_loss w ->
  let q := 1 - 2 * mu * xi / L * (1 - L * xi / (2 * mu)) in let nu := L * v / (2 * (mean_loss w - mean_loss s)) in
  0 <= q < 1 /\ mean_excess m w / (mean_loss w - mean_loss s) <= q ^ m + nu * ((1 - q ^ m) / (1 - q)).
Proof.
intros W q nu. change q with kept in *. clear q.
assert (Q : 0 <= kept < 1).
{ unfold kept. destruct pull_positive as (P & _).
  replace (2 * mu * xi / L * (1 - L * xi / (2 * mu))) with (xi / L * (1 - L * xi / (2 * mu)) * (2 * mu)) by (field; lra).
  split; [|nra].
  replace (1 - xi / L * (1 - L * xi / (2 * mu)) * (2 * mu)) with ((xi - mu / L) ^ 2 + (1 - (mu / L) ^ 2)) by (field; lra).
  assert (0 <= mu / L <= 1).
  { split. apply Rdiv_le_0_compat; lra. apply (Rmult_le_reg_r L). lra. replace (mu / L * L) with mu by (field; lra). lra. }
  generalize (pow2_ge_0 (xi - mu / L)). nra. }
split; [exact Q|].
assert (bound : forall w, mean_excess m w <= kept ^ m * (mean_loss w - mean_loss s) + L / 2 * v * ((1 - kept ^ m) / (1 - kept))).
{ clear W nu w. induction m as [|m IH]; intros w.
  - simpl. unfold Rdiv. rewrite Rminus_eq_0. lra.
  - cbn [mean_excess]. set (c := L / 2 * v * ((1 - kept ^ m) / (1 - kept))) in *. set (x := update w).
    assert (KM : 0 <= kept ^ m) by (apply pow_le; lra).
    destruct (quadratics (kept ^ m * (mean_loss x - mean_loss s) + c)
      (fun i => kept ^ m * mean_slope x i) (kept ^ m * (L / 2))) as (H1 & H2).
    apply Rle_trans with (mean (fun u => kept ^ m * (mean_loss x - mean_loss s) + c + dot n (fun i => kept ^ m * mean_slope x i) u
      + kept ^ m * (L / 2) * dot n u u)).
    + apply rises; [apply exist | exact H1|]. intros u. apply Rle_trans with (1 := IH _). fold c.
      generalize (below_quadratic n mu L _ _ mean_smooth x (fun i => x i + u i)).
      replace (fun i => x i + u i - x i) with u by (apply functional_extensionality; intros; ring). intros B.
      rewrite dot_times. nra.
    + rewrite H2. generalize (round w). fold x. intros R.
      apply Rle_trans with (kept ^ m * (kept * (mean_loss w - mean_loss s)) + c + kept ^ m * (L / 2) * v).
      * apply Rplus_le_compat_r, Rplus_le_compat_r. apply Rmult_le_compat_l; assumption.
      * right. unfold c. simpl. field. lra. }
apply (Rmult_le_reg_r (mean_loss w - mean_loss s)). lra. replace (_ / _ * _) with (mean_excess m w) by (field; lra).
apply Rle_trans with (1 := bound w). right. unfold nu. field. lra.
Qed.
End Rounds.

(* such means: of two opposite values, over all functions *)
Lemma opposite_values n (u : nat -> R) : let mean f := (f u + f (fun i => - u i)) / 2 in
  (forall a b c, True /\ mean (fun x => a + dot n b x + c * dot n x x) = a + c * dot n u u)
  /\ (forall f f' : (nat -> R) -> R, (forall x, f x <= f' x) -> mean f <= mean f').
Proof.
intros mean. split.
- intros a b c. split; [exact I|]. unfold mean.
  replace (fun i => - u i) with (fun i => -1 * u i) by (apply functional_extensionality; intros; ring).
  rewrite !dot_times, !dot_right_times. field.
- intros f f' H. unfold mean. generalize (H u) (H (fun i => - u i)). lra.
Qed.

(* Quadratic losses with the curvatures c k i in the n coordinates of a common basis; x is the distance from the common model
   to the minimum of the mean loss. Device k begins at x, or at x and a copy's noise, where its slope is c k i times the
   distance, and solves (4): c k i times its update is -xi times the mean slope (UF-E4). *)
Section Quadratics.
Variables (n K : nat) (c : nat -> nat -> R) (xi : R).
Hypotheses (devices : (0 < K)%nat) (curved : forall k i, (k < K)%nat -> (i < n)%nat -> 0 < c k i).

Definition average_of (f : nat -> R) : R := total K f / INR K.
Definition moved (x : nat -> R) (copies noise : nat -> nat -> R) (i : nat) : R :=
  x i + average_of (fun k => - xi * average_of (fun l => c l i * (x i + copies l i)) / c k i + noise k i).

(* keeps: every device has a copy of the model with noise of its own. Else the noise of the access point is in the model
   itself. *)
Definition next (keeps : bool) (x : nat -> R) (noise server : nat -> nat -> R) (i : nat) : R :=
  if keeps then moved x server noise i else moved x (fun _ _ => 0) noise i + server 0%nat i.

(* the mean over the noise of a round: of all devices, and of the access point, in each coordinate *)
Variables (N Z : nat -> nat -> (R -> R) -> R) (local_variance server_variance : R).
Hypothesis noise_law : forall k i, (i < n)%nat -> moments 0 local_variance (N k i) /\ moments 0 server_variance (Z k i).

Definition mean_round (keeps : bool) (h : (nat -> nat -> R) -> (nat -> nat -> R) -> R) : R :=
  each (fun _ => 0) (fun k => each 0 (N k) n) K (fun noise =>
    each (fun _ => 0) (fun k => each 0 (Z k) n) (if keeps then K else 1%nat) (fun server => h noise server)).

(* the mean excess after m rounds *)
Fixpoint excess_after (keeps : bool) (m : nat) (x : nat -> R) : R :=
  match m with
  | O => total n (fun i => average_of (fun k => c k i) * x i ^ 2 / 2)
  | S m => mean_round keeps (fun noise server => excess_after keeps m (next keeps x noise server))
  end.

Definition factor (i : nat) : R := 1 - xi * average_of (fun k => / c k i) * average_of (fun k => c k i).
Definition added (keeps : bool) (i : nat) : R := local_variance / INR K
  + (if keeps then (xi * average_of (fun k => / c k i)) ^ 2 * average_of (fun k => c k i ^ 2) / INR K else 1) * server_variance.

Lemma average_plus f g : average_of (fun k => f k + g k) = average_of f + average_of g.
Proof. unfold average_of. rewrite total_plus. unfold Rdiv. ring. Qed.

Lemma average_times a f : average_of (fun k => a * f k) = a * average_of f.
Proof. unfold average_of. rewrite total_times. unfold Rdiv. ring. Qed.

Definition weight (keeps : bool) (i k : nat) : R := if keeps then - xi * average_of (fun l => / c l i) * c k i / INR K else 1.

Lemma next_is keeps x noise server i : next keeps x noise server i
  = factor i * x i + total K (fun k => / INR K * noise k i) + total (if keeps then K else 1%nat)
    (fun k => weight keeps i k * server k i).
Proof.
assert (M : forall copies, moved x copies noise i = factor i * x i + total K (fun k => / INR K * noise k i)
  - xi * average_of (fun l => / c l i) * average_of (fun l => c l i * copies l i)).
{ intros copies. unfold moved. rewrite average_plus.
  replace (average_of (fun k => - xi * average_of (fun l => c l i * (x i + copies l i)) / c k i))
    with (- xi * average_of (fun l => c l i * (x i + copies l i)) * average_of (fun k => / c k i))
    by (rewrite <- average_times; reflexivity).
  replace (average_of (fun l => c l i * (x i + copies l i))) with
    (x i * average_of (fun l => c l i) + average_of (fun l => c l i * copies l i)).
  2: { rewrite <- average_times, <- average_plus. f_equal. apply functional_extensionality. intros; ring. }
  rewrite total_times. change (average_of (fun k => noise k i)) with (total K (fun k => noise k i) / INR K).
  unfold factor. unfold Rdiv at 1. ring. }
unfold next, weight. destruct keeps; rewrite M.
- unfold Rminus. f_equal. unfold average_of at 2. unfold Rdiv.
  rewrite (total_ext K (fun k => - xi * _ * c k i * / INR K * server k i)
    (fun k => - xi * average_of (fun l => / c l i) * / INR K * (c k i * server k i))) by (intros; ring). rewrite total_times.
    ring.
- replace (average_of (fun l => c l i * 0)) with 0. simpl total. ring.
  unfold average_of. rewrite (total_ext K _ (fun _ => 0)) by (intros; ring). rewrite total_const. unfold Rdiv. ring.
Qed.

(* the mean of a weighted sum of squares after a round *)
Lemma mean_round_is keeps (b : nat -> R) rest x : (forall i, (i < n)%nat -> 0 <= b i) ->
  mean_round keeps (fun noise server => rest + total n (fun i => b i * next keeps x noise server i ^ 2))
  = rest + total n (fun i => b i * ((factor i * x i) ^ 2 + added keeps i)).
Proof.
intros B. unfold mean_round. set (r := fun i => sqrt (b i)).
assert (R2 : forall i, (i < n)%nat -> r i ^ 2 = b i) by (intros i Hi; unfold r; rewrite <- Rsqr_pow2; apply Rsqr_sqrt, B, Hi).
set (M := if keeps then K else 1%nat).
assert (spread : forall (w : nat -> nat -> R) m (u : nat -> nat -> R) i, (i < n)%nat ->
  total m (fun k => total n (fun j => r i * w i k * unit_at i j * u k j)) = r i * total m (fun k => w i k * u k i)).
{ intros w m u i Hi. rewrite <- total_times. apply total_ext. intros k _.
  rewrite (total_ext n _ (fun j => unit_at i j * (r i * w i k * u k j))) by (intros; ring). rewrite total_unit by exact Hi.
  ring. }
assert (squares : forall (w : nat -> nat -> R) k,
  total n (fun j => total n (fun i => (r i * w i k * unit_at i j) ^ 2)) = total n (fun i => b i * w i k ^ 2)).
{ intros w k. rewrite total_swap. apply total_ext. intros i Hi.
  rewrite (total_ext n _ (fun j => unit_at i j * (unit_at i j * (r i * w i k) ^ 2))) by (intros; ring).
  rewrite total_unit by exact Hi.
  unfold unit_at. rewrite Nat.eqb_refl, Rpow_mult_distr, R2 by exact Hi. ring. }
transitivity (each (fun _ => 0) (fun k => each 0 (N k) n) K (fun noise => (rest + total M
  (fun k => server_variance * total n (fun i => b i * weight keeps i k ^ 2)))
  + total n (fun i => (r i * (factor i * x i) + total K (fun k => total n
      (fun j => r i * (/ INR K) * unit_at i j * noise k j))) ^ 2))).
- apply each_ext. intros noise.
  transitivity (each (fun _ => 0) (fun k => each 0 (Z k) n) M (fun server => rest
    + total n (fun i => (r i * (factor i * x i + total K (fun k => / INR K * noise k i)) + total M (fun k => total n
        (fun j => r i * weight keeps i k * unit_at i j * server k j))) ^ 2))).
  + apply each_ext. intros server. f_equal. apply total_ext. intros i Hi.
    rewrite (spread (fun i k => weight keeps i k)) by exact Hi.
    rewrite next_is. fold M. rewrite <- R2 by exact Hi. ring.
  + rewrite (mean_squares_vectors Z (fun _ => server_variance)) by (intros; apply noise_law; assumption).
    rewrite (total_ext M (fun k => server_variance * total n (fun j => total n
      (fun i => (r i * weight keeps i k * unit_at i j) ^ 2)))
      (fun k => server_variance * total n (fun i => b i * weight keeps i k ^ 2))) by (intros;
        rewrite (squares (fun i k => weight keeps i k)); reflexivity).
    rewrite (total_ext n (fun i => (r i * (factor i * x i + _)) ^ 2)
      (fun i => (r i * (factor i * x i) + total K (fun k => total n (fun j => r i * / INR K * unit_at i j * noise k j))) ^ 2)).
    * ring.
    * intros i Hi. rewrite (spread (fun _ _ => / INR K)) by exact Hi. f_equal. ring.
- rewrite (mean_squares_vectors N (fun _ => local_variance)) by (intros; apply noise_law; assumption).
  rewrite (total_ext K (fun k => local_variance * total n (fun j => total n
    (fun i => (r i * / INR K * unit_at i j) ^ 2))) (fun _ => local_variance * total n (fun i => b i * (/ INR K) ^ 2)))
    by (intros; exact (f_equal (Rmult local_variance) (squares (fun _ _ => / INR K) 0%nat))).
  assert (HK : INR K <> 0) by (apply not_0_INR; lia).
  transitivity (rest + (total n (fun i => total M (fun k => server_variance * (b i * weight keeps i k ^ 2)))
    + total n (fun i => b i * (factor i * x i) ^ 2) + total n (fun i => INR K * (local_variance * (b i * (/ INR K) ^ 2))))).
  { rewrite total_const, <- (total_swap M n), <- !total_times.
    rewrite (total_ext M (fun k => server_variance * total n (fun i => b i * weight keeps i k ^ 2))
      (fun k => total n (fun i => server_variance * (b i * weight keeps i k ^ 2)))) by (intros; rewrite total_times; reflexivity).
    rewrite (total_ext n (fun s => (r s * (factor s * x s)) ^ 2) (fun i => b i * (factor i * x i) ^ 2))
      by (intros i Hi; rewrite Rpow_mult_distr, R2 by exact Hi; reflexivity). ring. }
  f_equal. rewrite <- !total_plus. apply total_ext. intros i Hi. rewrite total_times, total_times.
  replace (total M (fun k => weight keeps i k ^ 2))
    with (if keeps then (xi * average_of (fun k => / c k i)) ^ 2 * average_of (fun k => c k i ^ 2) / INR K else 1).
  + unfold added. field. exact HK.
  + unfold M, weight. destruct keeps.
    * rewrite (total_ext K _ (fun k => (xi * average_of (fun l => / c l i) / INR K) ^ 2 * c k i ^ 2)) by (intros; field;
        exact HK).
      rewrite total_times. unfold average_of at 2. field. exact HK.
    * simpl. ring.
Qed.

Theorem UF_Psi_star_quadratic keeps m x : (forall i, (i < n)%nat -> factor i ^ 2 <> 1) -> (exists i, (i < n)%nat /\ x i <> 0) ->
  excess_after keeps m x / excess_after keeps 0 x
  = total n (fun i => average_of (fun k => c k i)
                      * (factor i ^ (2 * m) * x i ^ 2 + added keeps i * ((1 - factor i ^ (2 * m)) / (1 - factor i ^ 2))))
    / total n (fun i => average_of (fun k => c k i) * x i ^ 2).
Proof.
intros H (i0 & I0 & X0).
assert (HK : 0 < INR K) by (apply lt_0_INR, devices).
assert (P : forall i, (i < n)%nat -> 0 < average_of (fun k => c k i)).
{ intros i Hi. apply Rdiv_lt_0_compat; [|exact HK]. apply Rlt_le_trans with (c 0%nat i). apply curved; assumption.
  apply (total_part K (fun k => c k i)); [|exact devices]. intros k Hk. left. apply curved; assumption. }
assert (V : forall x, excess_after keeps m x = total n (fun i => average_of (fun k => c k i) / 2
  * (factor i ^ (2 * m) * x i ^ 2 + added keeps i * ((1 - factor i ^ (2 * m)) / (1 - factor i ^ 2))))).
{ clear x X0. induction m as [|m IH]; intros x.
  - simpl. apply total_ext. intros i Hi. unfold Rdiv. ring.
  - cbn [excess_after].
    set (rest := total n (fun i => average_of
      (fun k => c k i) / 2 * (added keeps i * ((1 - factor i ^ (2 * m)) / (1 - factor i ^ 2))))).
    transitivity (mean_round keeps (fun noise server => rest
      + total n (fun i => average_of (fun k => c k i) / 2 * factor i ^ (2 * m) * next keeps x noise server i ^ 2))).
    + f_equal. apply functional_extensionality. intros noise. apply functional_extensionality. intros server. rewrite IH.
      unfold rest.
      rewrite <- total_plus. apply total_ext. intros; ring.
    + rewrite mean_round_is.
      * unfold rest. rewrite <- total_plus. apply total_ext. intros i Hi. replace (2 * S m)%nat with (2 + 2 * m)%nat by lia.
        rewrite pow_add.
        specialize (H i Hi). field. lra.
      * intros i Hi. apply Rmult_le_pos. generalize (P i Hi). lra. rewrite pow_mult. apply pow_le, pow2_ge_0. }
rewrite V. cbn [excess_after].
rewrite (total_ext n (fun i => average_of (fun k => c k i) / 2 * _) (fun i => / 2 * (average_of (fun k => c k i)
  * (factor i ^ (2 * m) * x i ^ 2 + added keeps i * ((1 - factor i ^ (2 * m)) / (1 - factor i ^ 2)))))) by (intros;
      unfold Rdiv; ring).
rewrite (total_ext n (fun i => average_of (fun k => c k i) * x i ^ 2 / 2) (fun i => / 2 * (average_of
  (fun k => c k i) * x i ^ 2))) by (intros; field).
rewrite !total_times.
assert (0 < total n (fun i => average_of (fun k => c k i) * x i ^ 2)).
{ apply Rlt_le_trans with (average_of (fun k => c k i0) * x i0 ^ 2).
  - apply Rmult_lt_0_compat. apply P, I0. rewrite <- Rsqr_pow2. apply Rsqr_pos_lt, X0.
  - apply (total_part n (fun i => average_of (fun k => c k i) * x i ^ 2)); [|exact I0]. intros i Hi.
    apply Rmult_le_pos; [generalize (P i Hi); lra | apply pow2_ge_0]. }
field. lra.
Qed.
End Quadratics.

(* Randomised response that tells the truth with probability q: the laws of its two answers, q and 1 - q, or 1 - q and q; A is
   an event. *)
Definition answers (p0 p1 : R) (A : bool -> bool) : R := (if A true then p0 else 0) + (if A false then p1 else 0).

Theorem UF_E6 q s : 1 / 2 <= q < 1 -> 0 <= s <= 1 -> let lambda := Rpower (q / (1 - q)) s in
  is_lub (fun v => exists A, v = answers q (1 - q) A - lambda * answers (1 - q) q A) (q - lambda * (1 - q)).
Proof.
intros Q S lambda. assert (O : 1 <= q / (1 - q)).
{ apply (Rmult_le_reg_r (1 - q)). lra. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
assert (L : 1 <= lambda <= q / (1 - q)).
{ unfold lambda. split.
  - apply Rle_trans with (Rpower (q / (1 - q)) 0). right; symmetry; apply Rpower_O; lra. apply Rle_Rpower; lra.
  - apply Rle_trans with (Rpower (q / (1 - q)) 1). apply Rle_Rpower; lra. right; apply Rpower_1; lra. }
assert (B : lambda * (1 - q) <= q).
{ destruct L as (_ & L). apply (Rmult_le_compat_r (1 - q)) in L; [|lra]. unfold Rdiv in L.
  rewrite Rmult_assoc, Rinv_l in L; lra. }
assert (C : 1 - q <= lambda * q) by nra.
split.
- intros v (A & ->). unfold answers. destruct (A true), (A false); nra.
- intros b H. apply H. exists (fun a => a). unfold answers. ring.
Qed.

(* What follows is about any laws, on any class of events of any space (Divergence.v). *)
From Airtight Require Import Model Divergence.

(** The i-th of n samples of the other records has the probability w i; P1 i and P0 i are the laws of a mechanism on it with and
   without the record in question, which is sampled with probability q. *)
Section Sampled.
Variables (event : Type) (n : nat) (w : nat -> R) (P1 P0 : nat -> event -> R) (q eps : R).
Hypothesis samples : weights n w.
Hypothesis laws : forall i, likely (P1 i) /\ likely (P0 i).
Hypothesis sampled : 0 <= q <= 1.
Hypothesis positive : 0 <= eps.

Lemma both_orders_sampled d : 0 <= d ->
  (forall i, (i < n)%nat -> within (exp eps) (P1 i) (P0 i) d /\ within (exp eps) (P0 i) (P1 i) d) ->
  within (1 + q * (exp eps - 1)) (averaged n w (fun i => mixed q (P1 i) (P0 i))) (averaged n w P0) (q * d) /\
  within (1 + q * (exp eps - 1)) (averaged n w P0) (averaged n w (fun i => mixed q (P1 i) (P0 i))) (q * d).
Proof.
  destruct samples as [N S]. intros D H.
  replace (q * d) with (total n (fun i => w i * (q * d))).
  2: { rewrite (total_ext n _ (fun i => q * d * w i)) by (intros; ring). rewrite total_times, S. ring. }
  split; apply averaged_within; try exact N; intros i I; destruct (H i I) as [U V].
  - intro A. unfold mixed. specialize (U A). assert (q * (P1 i A - exp eps * P0 i A) <= q * d) by (apply Rmult_le_compat_l;
    lra). lra.
  - apply mixture_reversed; try assumption.
    + generalize (exp_ineq1_le eps). lra.
    + intro A. apply (laws i).
    + intro A. apply (laws i).
Qed.
End Sampled.

(* Two answers, of which the first comes with probability t; an event is a set of answers. *)
Definition answer (t : R) (A : bool -> bool) : R := (if A true then t else 0) + (if A false then 1 - t else 0).

(** Pure privacy for one record more or less is amplified to log(1 + q (e^epsilon - 1)), in both orders; and randomised response
   has no less. *)
Theorem UF_C3 q eps : 0 <= q <= 1 -> 0 < eps ->
  let eps_q := ln (1 + q * (exp eps - 1)) in
  (forall (event : Type) n w (P1 P0 : nat -> event -> R), weights n w -> (forall i, likely (P1 i) /\ likely (P0 i)) ->
    (forall i, (i < n)%nat -> within (exp eps) (P1 i) (P0 i) 0 /\ within (exp eps) (P0 i) (P1 i) 0) ->
    let with_it := averaged n w (fun i => mixed q (P1 i) (P0 i)) in
    within (exp eps_q) with_it (averaged n w P0) 0 /\ within (exp eps_q) (averaged n w P0) with_it 0) /\
  let tau := 1 / (1 + exp (- eps)) in
  let P1 := answer tau in
  let P0 := answer (1 - tau) in
  within (exp eps) P1 P0 0 /\ within (exp eps) P0 P1 0 /\
  forall e, (within (exp e) (mixed q P1 P0) P0 0 /\ within (exp e) P0 (mixed q P1 P0) 0 <-> eps_q <= e).
Proof.
  intros C E eps_q. assert (L : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra).
  assert (G0 : 0 < 1 + q * (exp eps - 1)) by nra.
  assert (X : exp eps_q = 1 + q * (exp eps - 1)) by (apply exp_ln; exact G0).
  assert (All : forall (event : Type) n w (P1 P0 : nat -> event -> R), weights n w -> (forall i,
    likely (P1 i) /\ likely (P0 i)) ->
    (forall i, (i < n)%nat -> within (exp eps) (P1 i) (P0 i) 0 /\ within (exp eps) (P0 i) (P1 i) 0) ->
    let with_it := averaged n w (fun i => mixed q (P1 i) (P0 i)) in
    within (exp eps_q) with_it (averaged n w P0) 0 /\ within (exp eps_q) (averaged n w P0) with_it 0).
  { intros event n w P1 P0 W Lw H with_it. rewrite X. unfold with_it. replace 0 with (q * 0) at 1 2 by ring.
    apply both_orders_sampled; try assumption; lra. }
  split. exact All. intros tau P1 P0.
  set (a := exp (- eps)). assert (A0 : 0 < a) by apply exp_pos.
  assert (A1 : exp eps * a = 1) by (unfold a; rewrite <- exp_plus, Rplus_opp_r, exp_0; reflexivity).
  assert (T : tau * (1 + a) = 1) by (unfold tau; fold a; field; lra).
  assert (T1 : 0 < tau < 1) by (split; apply (Rmult_lt_reg_r (1 + a)); nra).
  assert (T2 : tau = exp eps * (1 - tau)) by (apply (Rmult_eq_reg_r (1 + a)); [nra | lra]).
  assert (T3 : 1 - tau <= exp eps * tau) by nra.
  assert (F : within (exp eps) P1 P0 0) by (intro A; unfold P1, P0, answer; destruct (A true), (A false); nra).
  assert (F' : within (exp eps) P0 P1 0) by (intro A; unfold P1, P0, answer; destruct (A true), (A false); nra).
  assert (La : forall t, 0 <= t <= 1 -> likely (answer t)) by (intros t B A; unfold answer; destruct (A true), (A false); lra).
  split; [exact F|]. split; [exact F'|]. intro e. split.
  - intros [W _]. specialize (W (fun b => b)). unfold mixed, P1, P0, answer in W.
    assert (K : exp eps_q <= exp e) by (rewrite X; apply (Rmult_le_reg_r (1 - tau)); [lra|]; nra).
    destruct (Rle_dec eps_q e) as [Y | Y]. exact Y. apply Rnot_le_lt, exp_increasing in Y. lra.
  - intro Y.
    destruct (All (bool -> bool) 1%nat (fun _ => 1) (fun _ => P1) (fun _ => P0)) as [U V].
    + split; simpl. intros; lra. ring.
    + intro i. split; apply La; lra.
    + intros i _. split; assumption.
    + assert (Z : exp eps_q <= exp e) by (destruct Y as [Y | ->]; [left; apply exp_increasing; exact Y | right; reflexivity]).
      assert (M : likely (mixed q P1 P0)).
      { intro A. unfold mixed. generalize (La tau ltac:(lra) A) (La (1 - tau) ltac:(lra) A). fold P1 P0. intros. nra. }
      split; intro A.
      * specialize (U A). unfold averaged in U; simpl in U. generalize (La (1 - tau) ltac:(lra) A). fold P0. intro.
        assert (exp eps_q * P0 A <= exp e * P0 A) by (apply Rmult_le_compat_r; lra). lra.
      * specialize (V A). unfold averaged in V; simpl in V. generalize (M A). intro.
        assert (exp eps_q * mixed q P1 P0 A <= exp e * mixed q P1 P0 A) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** The same with a delta, which is multiplied by q. *)
Theorem UF_C3_delta (event : Type) (P Q : event -> R) q eps delta : likely P -> likely Q -> 0 <= q <= 1 -> 0 <= eps -> 0 <=
  delta ->
  within (exp eps) P Q delta -> within (exp eps) Q P delta ->
  let lambda := 1 + q * (exp eps - 1) in
  within lambda (mixed q P Q) Q (q * delta) /\ within lambda Q (mixed q P Q) (q * delta).
Proof.
  intros HP HQ C E D U V lambda. split.
  - intro A. unfold lambda, mixed. specialize (U A). assert (q * (P A - exp eps * Q A) <= q * delta) by (apply
    Rmult_le_compat_l; lra). lra.
  - apply mixture_reversed; try assumption; try (intro A; apply HP || apply HQ). generalize (exp_ineq1_le eps). lra.
Qed.

(** One record is replaced: P and Q are the laws with it and with the other one in the sample, R that without it. *)
Theorem UF_C3_replaced (event : Type) (P Q R : event -> R) q eps delta : 0 <= q <= 1 -> 0 <= eps ->
  within (exp eps) P Q delta -> within (exp eps) P R delta ->
  within (1 + q * (exp eps - 1)) (mixed q P R) (mixed q Q R) (q * delta).
Proof.
  intros C E U V A. specialize (U A). specialize (V A). unfold mixed.
  assert (L : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra).
  set (b := (1 + q * (exp eps - 1)) / exp eps).
  assert (B : b * exp eps = 1 + q * (exp eps - 1)) by (unfold b; field; lra).
  assert (B1 : 0 <= b <= 1) by (split; nra).
  replace (_ - _) with (q * (b * (P A - exp eps * Q A) + (1 - b) * (P A - exp eps * R A))).
  - apply Rmult_le_compat_l; [lra|]. nra.
  - rewrite <- B. replace (q * P A + (1 - q) * R A - b * exp eps * (q * Q A + (1 - q) * R A))
      with (q * (P A - b * exp eps * Q A) + ((1 - q) * (1 - b * exp eps)) * R A) by ring.
    replace ((1 - q) * (1 - b * exp eps)) with (- q * (exp eps - b * exp eps)) by (rewrite B; ring). ring.
Qed.

(** Adaptive composition. A history is the list of the outcomes so far, the last one first. Given it the next round has the laws
   E and E' of neighbours: expectations on a class F of functions of its outcome. f is a function of the history after M rounds.
   *)
Section Rounds.
Variables (X : Type) (F : (X -> R) -> Prop) (E E' : list X -> (X -> R) -> R) (eps delta : R).
Hypothesis class : functions F.
Hypothesis rounds : forall h, expectation F (E h) /\ expectation F (E' h).

Fixpoint run (G : list X -> (X -> R) -> R) (M : nat) (f : list X -> R) (h : list X) : R :=
  match M with
  | O => f h
  | S k => G h (fun x => run G k f (x :: h)%list)
  end.

(* the means that are taken are of functions of the class *)
Fixpoint measurable (G : list X -> (X -> R) -> R) (M : nat) (f : list X -> R) (h : list X) : Prop :=
  match M with
  | O => True
  | S k => (forall x, measurable G k f (x :: h)%list) /\ F (fun x => run G k f (x :: h)%list)
  end.

Lemma run_between G M f : (forall h, expectation F (G h)) -> (forall h, 0 <= f h <= 1) -> forall h,
  measurable G M f h -> 0 <= run G M f h <= 1.
Proof.
  intros L B. induction M as [|k IH]; simpl; intro h. intros _. apply B. intros [Mx Fx].
  assert (C : forall c, G h (fun _ => c) = c).
  { intro c. replace (fun _ : X => c) with (fun _ : X => c * 1 + 0 * 1) by (apply
    FunctionalExtensionality.functional_extensionality; intro; ring).
    rewrite (linear _ _ (L h) c 0 (fun _ => 1) (fun _ => 1)) by apply (constants _ class). rewrite (one _ _ (L h)). ring. }
  split.
  - rewrite <- (C 0). apply (rises _ _ (L h)). apply (constants _ class). exact Fx. intro x. apply IH. apply Mx.
  - rewrite <- (C 1). apply (rises _ _ (L h)). exact Fx. apply (constants _ class). intro x. apply IH. apply Mx.
Qed.

(** Each round is (epsilon, delta)-private, whatever came before it; then M rounds are (M epsilon, M delta)-private. *)
Theorem UF_C1 M f : 0 <= eps -> 0 <= delta -> (forall h, close F (E h) (E' h) (exp eps) delta) -> (forall h,
  f h = 0 \/ f h = 1) ->
  measurable E M f nil -> measurable E' M f nil ->
  run E M f nil - exp (INR M * eps) * run E' M f nil <= INR M * delta.
Proof.
  intros He Hd C V. assert (B : forall h, 0 <= f h <= 1) by (intro h; destruct (V h) as [-> | ->]; lra).
  enough (K : forall h, measurable E M f h -> measurable E' M f h -> run E M f h <= exp (INR M * eps) * run E' M f h + INR M *
    delta)
    by (intros H H'; generalize (K nil H H'); lra).
  induction M as [|k IH]; intros h.
  - intros _ _. simpl. rewrite !Rmult_0_l, exp_0. lra.
  - simpl measurable. intros [Mx Fx] [Mx' Fx']. rewrite S_INR. simpl run.
    replace ((INR k + 1) * eps) with (eps + INR k * eps) by ring. rewrite exp_plus.
    replace ((INR k + 1) * delta) with (delta + INR k * delta) by ring.
    apply (two_steps F (E h) (E' h)); try assumption; try apply rounds; try (left; apply exp_pos).
    + apply Rmult_le_pos. apply pos_INR. exact Hd.
    + apply C.
    + intro x. apply (run_between E k f (fun h => proj1 (rounds h)) B). apply Mx.
    + intro x. apply (run_between E' k f (fun h => proj2 (rounds h)) B). apply Mx'.
    + intro x. apply IH. apply Mx. apply Mx'.
Qed.
End Rounds.
