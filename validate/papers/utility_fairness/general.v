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

Section Class.
Variables (n : nat) (mu L : R) (F : (nat -> R) -> R) (G : (nat -> R) -> nat -> R).
Hypothesis class : smooth n mu L F G.

Lemma along x d t : is_derive (fun u => F (fun i => x i + u * d i)) t (dot n (G (fun i => x i + t * d i)) d).
Proof.
destruct class as (D & _).
apply (is_derive_ext (fun u => (fun v => F (fun i => (x i + t * d i) + v * d i)) (u - t))).
- intros u. simpl. f_equal. apply functional_extensionality. intros i. ring.
- replace (dot n (G (fun i => x i + t * d i)) d) with (1 * dot n (G (fun i => x i + t * d i)) d) by ring.
  apply (is_derive_comp (fun v => F (fun i => (x i + t * d i) + v * d i)) (fun u => u - t)).
  + replace (t - t) with 0 by ring. apply D.
  + auto_derive; trivial; ring.
Qed.

(* the quadratic above a smooth function *)
Lemma below_quadratic x y :
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
  destruct class as (_ & Lip & _). specialize (Lip (fun i => x i + c * d i) x). cbv beta in Lip.
  assert (S : size n (fun i => x i + c * d i - x i) = c * size n d).
  { unfold size. replace (c * sqrt (dot n d d)) with (sqrt (c * c) * sqrt (dot n d d)) by (rewrite sqrt_square;
      [reflexivity | exact C0]).
    rewrite <- sqrt_mult by (try apply dot_self; nra).
    f_equal. unfold dot. rewrite <- total_times. apply total_ext. intros. ring. }
  rewrite S in Lip. generalize (cauchy n (fun i => G (fun i => x i + c * d i) i - G x i) d). intros B.
  rewrite dot_minus in B. generalize (size_positive n d) (size_square n d). fold s. intros P Q.
  assert (dg c <= 0). { unfold dg. nra. }
  assert (E1 : F y = F (fun i => x i + 1 * d i)).
  { f_equal. apply functional_extensionality. intros i. unfold d. ring. }
  assert (E0 : F x = F (fun i => x i + 0 * d i)).
  { f_equal. apply functional_extensionality. intros i. unfold d. ring. }
  rewrite E1, E0. unfold g in C. lra.
Qed.

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
Proof.
apply Rle_trans with (1 := below_quadratic n mu L F G class x _). right.
enough (dot n (G x) (fun i => x i - eta * G x i - x i) + L / 2 * dot n (fun i => x i - eta * G x i - x i)
  (fun i => x i - eta * G x i - x i)
  = - eta * (1 - L * eta / 2) * dot n (G x) (G x)) by lra.
unfold dot. gather. apply total_ext. intros. field.
Qed.

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

Theorem contracted eta x : 0 < mu <= L -> 0 < eta -> F (fun k => x k - eta * G x k) - F s <= rate eta ^ 2 * (F x - F s).
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

Lemma derive_total K (f : nat -> R -> R) (df : nat -> R) t : (forall k, (k < K)%nat -> is_derive (f k) t (df k)) ->
  is_derive (fun u => total K (fun k => f k u)) t (total K df).
Proof.
induction K as [|K IH]; intros H; simpl.
- apply (is_derive_const (K := R_AbsRing) (V := R_NormedModule)).
- apply (is_derive_plus (fun u => total K (fun k => f k u)) (f K)). apply IH; intros; apply H; lia. apply H; lia.
Qed.

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

(* A device: computing takes the energy x P_cp in the time x;
  sending in the time t needs Z nats a symbol, a = V log(2) / band, at the
   gain g, the efficiency rho of the amplifier and the power P_cir of the circuit. *)
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
