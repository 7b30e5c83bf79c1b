(* Finite laws and their expectations, Gaussian integrals, gradient descent: what the refutations beside this file speak of. *)

From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
Import ListNotations.
Open Scope R_scope.

Definition law (A : Type) := list (R * A).

Fixpoint E {A : Type} (l : law A) (f : A -> R) : R :=
  match l with
  | [] => 0
  | (p, a) :: rest => p * f a + E rest f
  end.

(* 1 with probability p, else 0 *)
Definition coin (p : R) : law R := [(p, 1); (1 - p, 0)].

(* the sum of f over 0, ..., n - 1 *)
Fixpoint total (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => total m f + f m
  end.

(* an expectation of noise with mean 0 and this variance *)
Definition noise (variance : R) (G : (R -> R) -> R) : Prop :=
  (forall a b f g, G (fun n => a * f n + b * g n) = a * G f + b * G g)
  /\ G (fun _ => 1) = 1 /\ G (fun n => n) = 0 /\ G (fun n => n ^ 2) = variance
  /\ (forall f g, (forall n, f n = g n) -> G f = G g).

Lemma noise_square variance G : noise variance G ->
  forall a b, G (fun n => (a + b * n) ^ 2) = a ^ 2 + b ^ 2 * variance.
Proof.
intros (linear & one & mean & second & same) a b.
rewrite (same _ (fun n => 1 * (a ^ 2 * 1 + 2 * a * b * n) + b ^ 2 * n ^ 2)) by (intros; ring).
rewrite linear.
rewrite (linear (a ^ 2) (2 * a * b) (fun _ => 1) (fun n => n)).
rewrite one, mean, second. ring.
Qed.

(* the density of the standard normal law *)
Definition phi (x : R) : R := exp (- x ^ 2 / 2) / sqrt (2 * PI).

(* gradient descent *)
Fixpoint descent (F : R -> R) (step : R) (j : nat) (x : R) : R :=
  match j with
  | O => x
  | S i => descent F step i (x - step * Derive F x)
  end.

Definition quadratic (c x : R) : R := c * x ^ 2 / 2.

Lemma slope c x : Derive (quadratic c) x = c * x.
Proof.
apply is_derive_unique. unfold quadratic. auto_derive; trivial. field.
Qed.

Lemma descent_quadratic c step j x : descent (quadratic c) step j x = (1 - step * c) ^ j * x.
Proof.
revert x. induction j as [|j IH]; intros x; simpl.
- ring.
- rewrite IH, slope. ring.
Qed.
