(* Sums over finitely many coordinates, devices or clients; a vector is the function of its coordinates. *)

From Coq Require Import Reals List Lra Lia Psatz FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Model.
Import ListNotations.
Open Scope R_scope.

Lemma total_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> total n f = total n g.
Proof. induction n as [|n IH]; intros H; simpl; [reflexivity | rewrite IH, H by (intros; try apply H; lia); reflexivity]. Qed.

Lemma total_plus n f g : total n (fun i => f i + g i) = total n f + total n g.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma total_minus n f g : total n (fun i => f i - g i) = total n f - total n g.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma total_times n c f : total n (fun i => c * f i) = c * total n f.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma total_const n c : total n (fun _ => c) = INR n * c.
Proof. induction n as [|n IH]; [simpl; ring | rewrite S_INR; simpl; rewrite IH; ring]. Qed.

Lemma total_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> total n f <= total n g.
Proof. induction n as [|n IH]; intros H; simpl; [lra | apply Rplus_le_compat; [apply IH; intros; apply H; lia | apply H;
  lia]]. Qed.

Lemma total_positive n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= total n f.
Proof. intros H. replace 0 with (total n (fun _ => 0)) by (rewrite total_const; ring). apply total_le, H. Qed.

Lemma total_swap n m f : total n (fun i => total m (fun j => f i j)) = total m (fun j => total n (fun i => f i j)).
Proof.
induction n as [|n IH]; simpl.
- rewrite total_const. ring.
- rewrite IH, <- total_plus. reflexivity.
Qed.

(* A part is no more than the whole. *)
Lemma total_part n f k : (forall i, (i < n)%nat -> 0 <= f i) -> (k < n)%nat -> f k <= total n f.
Proof.
induction n as [|n IH]; intros P H; [lia | simpl].
assert (0 <= total n f) by (apply total_positive; intros; apply P; lia).
destruct (Nat.eq_dec k n) as [->|]; [lra|].
assert (f k <= total n f) by (apply IH; [intros; apply P; lia | lia]). assert (0 <= f n) by (apply P; lia). lra.
Qed.

(* Of two sums the greater has somewhere the greater term. *)
Lemma total_somewhere n f g : (0 < n)%nat -> total n g <= total n f -> exists k, (k < n)%nat /\ g k <= f k.
Proof.
induction n as [|n IH]; [lia|]. intros _ H. simpl in H.
destruct (Rle_lt_dec (g n) (f n)) as [A|A]; [exists n; split; [lia | exact A]|].
destruct n as [|n]; [simpl in H; lra|]. destruct IH as (k & K & B); [lia | lra |]. exists k. split; [lia | exact B].
Qed.

(* The Kronecker delta. *)
Definition unit_at (k l : nat) : R := if Nat.eqb k l then 1 else 0.

Lemma total_unit n k f : (k < n)%nat -> total n (fun l => unit_at k l * f l) = f k.
Proof.
intros H. induction n as [|n IH]; [lia | simpl]. unfold unit_at at 2. destruct (Nat.eqb_spec k n) as [->|N].
- rewrite (total_ext n _ (fun _ => 0)). rewrite total_const. ring.
  intros l Hl. unfold unit_at. replace (n =? l)%nat with false by (symmetry; apply Nat.eqb_neq; lia). ring.
- rewrite IH by lia. ring.
Qed.

Lemma derive_total K (f : nat -> R -> R) (df : nat -> R) t : (forall k, (k < K)%nat -> is_derive (f k) t (df k)) ->
  is_derive (fun u => total K (fun k => f k u)) t (total K df).
Proof.
induction K as [|K IH]; intros H; simpl.
- apply (is_derive_const (K := R_AbsRing) (V := R_NormedModule)).
- apply (is_derive_plus (fun u => total K (fun k => f k u)) (f K)). apply IH; intros; apply H; lia. apply H; lia.
Qed.

(* Writes a linear expression in sums as one sum. *)
Ltac gather := unfold Rdiv; rewrite ?(Rmult_comm (total _ _)); rewrite <- ?total_times;
  repeat (rewrite <- ?total_plus; rewrite <- ?total_minus; rewrite <- ?total_times).

Definition dot (n : nat) (u v : nat -> R) : R := total n (fun i => u i * v i).

Lemma dot_self n u : 0 <= dot n u u.
Proof. apply total_positive. intros. nra. Qed.

Lemma dot_sym n u v : dot n u v = dot n v u.
Proof. apply total_ext. intros. ring. Qed.

Lemma dot_plus n u v w : dot n (fun i => u i + v i) w = dot n u w + dot n v w.
Proof. unfold dot. rewrite <- total_plus. apply total_ext. intros. ring. Qed.

Lemma dot_minus n u v w : dot n (fun i => u i - v i) w = dot n u w - dot n v w.
Proof. unfold dot. rewrite <- total_minus. apply total_ext. intros. ring. Qed.

Lemma dot_times n c u w : dot n (fun i => c * u i) w = c * dot n u w.
Proof. unfold dot. rewrite <- total_times. apply total_ext. intros. ring. Qed.

Lemma dot_right_plus n u v w : dot n u (fun i => v i + w i) = dot n u v + dot n u w.
Proof. rewrite !(dot_sym n u), dot_plus. reflexivity. Qed.

Lemma dot_right_minus n u v w : dot n u (fun i => v i - w i) = dot n u v - dot n u w.
Proof. rewrite !(dot_sym n u), dot_minus. reflexivity. Qed.

Lemma dot_right_times n u c v : dot n u (fun i => c * v i) = c * dot n u v.
Proof. rewrite !(dot_sym n u), dot_times. reflexivity. Qed.

Lemma dot_right_zero n u : dot n u (fun _ => 0) = 0.
Proof. unfold dot. rewrite (total_ext n _ (fun _ => 0)) by (intros; ring). rewrite total_const. ring. Qed.

Lemma dot_total n K u (v : nat -> nat -> R) : dot n u (fun i => total K (fun k => v k i)) = total K (fun k => dot n u (v k)).
Proof.
unfold dot. rewrite <- total_swap. apply total_ext. intros i _. rewrite <- total_times. apply total_ext. intros; ring.
Qed.

Lemma cauchy_square n u v : dot n u v * dot n u v <= dot n u u * dot n v v.
Proof.
assert (Q : forall t, 0 <= dot n u u - 2 * t * dot n u v + t * t * dot n v v).
{ intros t. apply Rle_trans with (1 := dot_self n (fun i => u i - t * v i)). right.
  rewrite !dot_minus, !dot_times. rewrite !(dot_sym n _ (fun i => u i - t * v i)), !dot_minus, !dot_times.
  rewrite (dot_sym n v u). ring. }
generalize (dot_self n u) (dot_self n v). intros U V.
destruct (Rle_lt_or_eq_dec 0 _ V) as [P | Z].
- specialize (Q (dot n u v / dot n v v)).
  apply (Rmult_le_reg_r (/ dot n v v)). apply Rinv_0_lt_compat, P.
  replace (dot n u u * dot n v v * / dot n v v) with (dot n u u) by (field; lra).
  replace (dot n u u - 2 * (dot n u v / dot n v v) * dot n u v + dot n u v / dot n v v * (dot n u v / dot n v v) * dot n v v)
    with (dot n u u - dot n u v * dot n u v * / dot n v v) in Q by (field; lra). lra.
- rewrite <- Z in *. destruct (Req_dec (dot n u v) 0) as [-> | N]; [lra|].
  specialize (Q ((dot n u u + 1) / (2 * dot n u v))).
  replace (2 * ((dot n u u + 1) / (2 * dot n u v)) * dot n u v) with (dot n u u + 1) in Q by (field; exact N). lra.
Qed.

(* The length of a vector. *)
Definition size (n : nat) (u : nat -> R) : R := sqrt (dot n u u).

Lemma size_positive n u : 0 <= size n u.
Proof. apply sqrt_pos. Qed.

Lemma size_square n u : size n u * size n u = dot n u u.
Proof. apply sqrt_sqrt, dot_self. Qed.

Lemma cauchy n u v : dot n u v <= size n u * size n v.
Proof.
generalize (cauchy_square n u v) (size_positive n u) (size_positive n v). rewrite <- !size_square. intros C U V.
apply Rnot_lt_le. intro H. assert (0 <= size n u * size n v) by (apply Rmult_le_pos; assumption). nra.
Qed.

Lemma size_le n u c : 0 <= c -> dot n u u <= c * c -> size n u <= c.
Proof. intros C H. unfold size. rewrite <- (sqrt_square c C). apply sqrt_le_1_alt, H. Qed.

Lemma size_plus n u v : size n (fun i => u i + v i) <= size n u + size n v.
Proof.
generalize (size_positive n u) (size_positive n v) (cauchy n u v). intros U V C. apply size_le. lra.
rewrite !dot_plus, !(dot_sym n _ (fun i => u i + v i)), !dot_plus, (dot_sym n v u), <- !size_square. nra.
Qed.

Lemma size_total n K (u : nat -> nat -> R) : size n (fun i => total K (fun k => u k i)) <= total K (fun k => size n (u k)).
Proof.
induction K as [|K IH]; simpl.
- apply size_le; [lra|]. right. unfold dot. rewrite total_const. ring.
- apply Rle_trans with (1 := size_plus n (fun i => total K (fun k => u k i)) (u K)). lra.
Qed.

(* What is asked of an expectation: that of quadratic polynomials, of a law with this mean and variance. *)
Definition moments (mean variance : R) (G : (R -> R) -> R) : Prop :=
  forall a b c, G (fun x => a + b * x + c * x ^ 2) = a + b * mean + c * (mean ^ 2 + variance).

Lemma coin_moments p : moments p (p * (1 - p)) (E (coin p)).
Proof. intros a b c. simpl. ring. Qed.

(* a law with mean 0 and variance s^2 *)
Lemma two_points_moments s : moments 0 (s ^ 2) (E [(1 / 2, s); (1 / 2, - s)]).
Proof. intros a b c. simpl. field. Qed.

(* Independent variables: an expectation over one after the other, here of values in any set. *)
Definition set {A : Type} (u : nat -> A) (k : nat) (x : A) : nat -> A := fun i => if Nat.eqb i k then x else u i.

Fixpoint each {A : Type} (none : A) (G : nat -> (A -> R) -> R) (n : nat) (h : (nat -> A) -> R) : R :=
  match n with
  | O => h (fun _ => none)
  | S k => G k (fun x => each none G k (fun u => h (set u k x)))
  end.

Lemma each_ext {A : Type} (none : A) G n h h' : (forall u, h u = h' u) -> each none G n h = each none G n h'.
Proof. intros H. f_equal. apply functional_extensionality, H. Qed.

Lemma set_total {A : Type} n (u : nat -> A) x (f : nat -> A -> R) :
  total (S n) (fun j => f j (set u n x j)) = total n (fun j => f j (u j)) + f n x.
Proof.
simpl. unfold set at 2. rewrite Nat.eqb_refl. f_equal. apply total_ext. intros i H. unfold set.
replace (i =? n)%nat with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
Qed.

(* the mean of squares of affine functions, and of single squares *)
Lemma mean_squares (G : nat -> (R -> R) -> R) (mean variance : nat -> R) n :
  (forall j, (j < n)%nat -> moments (mean j) (variance j) (G j)) -> forall q rest (c : nat -> R) (a : nat -> nat ->
    R) (b : nat -> R),
  each 0 G n (fun u => rest + total q (fun s => (c s + total n (fun j => a s j * u j)) ^ 2) + total n (fun j => b j * u j ^ 2))
  = rest + total q (fun s => (c s + total n (fun j => a s j * mean j)) ^ 2)
    + total n (fun j => variance j * total q (fun s => a s j ^ 2) + b j * (mean j ^ 2 + variance j)).
Proof.
induction n as [|n IH]; intros H q rest c a b.
- simpl. ring.
- cbn [each].
  transitivity (G n (fun x => (rest + b n * x ^ 2) + total q (fun s => ((c s + a s n * x) + total n
    (fun j => a s j * mean j)) ^ 2)
    + total n (fun j => variance j * total q (fun s => a s j ^ 2) + b j * (mean j ^ 2 + variance j)))).
  + f_equal. apply functional_extensionality. intros x. rewrite <- (IH (fun j Hj => H j (Nat.lt_lt_succ_r _ _ Hj))).
    apply each_ext. intros u. rewrite (set_total n u x (fun j y => b j * y ^ 2)).
    rewrite (total_ext q (fun s => (c s + total (S n) (fun j => a s j * set u n x j)) ^ 2)
      (fun s => ((c s + a s n * x) + total n (fun j => a s j * u j)) ^ 2)).
    * ring.
    * intros s _. rewrite (set_total n u x (fun j y => a s j * y)). ring.
  + set (V := total n (fun j => variance j * _ + _)). set (d := fun s => c s + total n (fun j => a s j * mean j)).
    rewrite (functional_extensionality _ (fun x => (rest + V + total q (fun s => d s ^ 2)) + (total q
      (fun s => 2 * (d s * a s n))) * x
      + (b n + total q (fun s => a s n ^ 2)) * x ^ 2)).
    * rewrite (H n ltac:(lia)). cbn [total]. fold V.
      rewrite (total_ext q (fun s => (c s + (total n (fun j => a s j * mean j) + a s n * mean n)) ^ 2)
        (fun s => d s ^ 2 + mean n * (2 * (d s * a s n)) + mean n ^ 2 * a s n ^ 2)) by (intros s _; unfold d; ring).
      rewrite !total_plus, !total_times. ring.
    * intros x. rewrite (total_ext q (fun s => (c s + a s n * x + total n (fun j => a s j * mean j)) ^ 2)
        (fun s => d s ^ 2 + x * (2 * (d s * a s n)) + x ^ 2 * a s n ^ 2)) by (intros s _; unfold d; ring).
      rewrite !total_plus, !total_times. ring.
Qed.

(* the same of independent vectors with r independent coordinates of mean 0 *)
Lemma mean_squares_vectors (G : nat -> nat -> (R -> R) -> R) (variance : nat -> R) r K :
  (forall k j, (k < K)%nat -> (j < r)%nat -> moments 0 (variance k) (G k j)) -> forall q rest (c : nat -> R) (a : nat ->
    nat -> nat -> R),
  each (fun _ => 0) (fun k => each 0 (G k) r) K (fun u => rest
    + total q (fun s => (c s + total K (fun k => total r (fun j => a s k j * u k j))) ^ 2))
  = rest + total q (fun s => c s ^ 2) + total K (fun k => variance k * total r (fun j => total q (fun s => a s k j ^ 2))).
Proof.
induction K as [|K IH]; intros H q rest c a.
- simpl. rewrite Rplus_0_r. f_equal. apply total_ext. intros; ring.
- cbn [each].
  transitivity (each 0 (G K) r (fun x => rest + total K (fun k => variance k * total r (fun j => total q (fun s => a s k j ^ 2)))
    + total q (fun s => (c s + total r (fun j => a s K j * x j)) ^ 2) + total r (fun j => 0 * x j ^ 2))).
  + apply each_ext. intros x.
    transitivity (rest + total q (fun s => (c s + total r (fun j => a s K j * x j)) ^ 2)
      + total K (fun k => variance k * total r (fun j => total q (fun s => a s k j ^ 2)))).
    * rewrite <- (IH (fun k j Hk Hj => H k j (Nat.lt_lt_succ_r _ _ Hk) Hj)). apply each_ext. intros u. f_equal.
      apply total_ext. intros s _. rewrite (set_total K u x (fun k y => total r (fun j => a s k j * y j))). ring.
    * rewrite (total_times r 0 (fun j => x j ^ 2)). ring.
  + rewrite (mean_squares (G K) (fun _ => 0) (fun _ => variance K)) by (intros; apply H; lia).
    cbn [total]. rewrite (total_ext q _ (fun s => c s ^ 2)).
    2: { intros s _. rewrite (total_ext r _ (fun _ => 0)) by (intros; ring). rewrite total_const. ring. }
    rewrite (total_ext r (fun j => variance K * _ + _) (fun j => variance K * total q (fun s => a s K j ^ 2))) by (intros; ring).
    rewrite total_times. ring.
Qed.
