(* Tactics of the generated theorems, and the lemmas that they use. *)

From Coq Require Import Reals Lra Psatz.
From Interval Require Import Tactic.
Open Scope R_scope.

Lemma maximum a b : Rmax a b = (a + b + Rabs (a - b)) / 2.
Proof. unfold Rmax, Rabs. destruct (Rle_dec a b), (Rcase_abs (a - b)); lra. Qed.

Lemma minimum a b : Rmin a b = (a + b - Rabs (a - b)) / 2.
Proof. unfold Rmin, Rabs. destruct (Rle_dec a b), (Rcase_abs (a - b)); lra. Qed.

Lemma exp_rises a b : a <= b -> exp a <= exp b.
Proof. intros [H | ->]. left. apply exp_increasing. exact H. right. reflexivity. Qed.

Lemma ln_rises a b : 0 < a -> a <= b -> ln a <= ln b.
Proof. intros P [H | ->]. left. apply ln_increasing; assumption. right. reflexivity. Qed.

Ltac cased := rewrite ?maximum, ?minimum.

Definition integer (x : R) : Prop := exists k : Z, x = IZR k.

(* Two numbers that differ in which of two the lesser or greater is. *)
Ltac resolved := unfold Rmin, Rmax; repeat destruct (Rle_dec _ _); first [reflexivity | exfalso; lra].

(* A term that nra does not look into, with bounds. *)
Ltac atom t := let B := fresh in interval_intro t as B; revert B; generalize t; intros.

(* Both sides are the same function of two numbers in the known order. *)
Ltac monotone :=
  lazymatch goal with
  | |- ?a <= ?a => right; reflexivity
  | |- ?c + _ <= ?c + _ => apply Rplus_le_compat_l; monotone
  | |- _ + ?c <= _ + ?c => apply Rplus_le_compat_r; monotone
  | |- ?c * _ <= ?c * _ => apply Rmult_le_compat_l; [interval | monotone]
  | |- _ * ?c <= _ * ?c => apply Rmult_le_compat_r; [interval | monotone]
  | |- ?c / _ <= ?c / _ => apply Rmult_le_compat_l; [interval | apply Rinv_le_contravar; [interval | monotone]]
  | |- _ / ?c <= _ / ?c => apply Rmult_le_compat_r; [interval | monotone]
  | |- ln _ <= ln _ => apply ln_rises; [interval | monotone]
  | |- exp _ <= exp _ => apply exp_rises; monotone
  | |- sqrt _ <= sqrt _ => apply sqrt_le_1_alt; monotone
  | |- _ ^ _ <= _ ^ _ => apply pow_incr; split; [interval | monotone]
  | |- _ => lra
  end.

(* The point is in the domain, and meets a hypothesis. *)
Ltac met := cased; first [eexists; reflexivity | lra | interval | interval with (i_prec 128)].
