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
