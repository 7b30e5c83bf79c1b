(* Collaborative inference: refutations from the law of who takes part, and from the densities of the Gaussian mechanism. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Model.
Open Scope R_scope.

(* FDP-E4: two devices with codes 1, weights 1/2; the mean of what is received *)
Theorem FDP_E4_false :
  ~ (forall p q, 1 / 100 <= p <= 1 -> 1 / 100 <= q <= 1 ->
     E (coin p) (fun a => E (coin q) (fun b => (a * 1 + b * 1) / 2)) = (1 + 1) / 2).
Proof.
intros H.
specialize (H 1 (1 / 2)). simpl in H.
lapply H; [clear H; intros H | lra].
lapply H; [lra | lra].
Qed.

(* FDP-E6: the square of the norm of what is sent, in the plane: code (s, 0), noise of norm n at the cosine c *)
Theorem FDP_E6_false :
  ~ (forall P s n c, 1 / 1000 <= P <= 1000 -> 1 / 100 <= s <= 100 -> 1 / 100 <= n <= 100 -> -1 <= c <= 1 ->
     let amplitude := sqrt P / sqrt (s ^ 2 + n ^ 2) in
     (amplitude * (s + n * c)) ^ 2 + (amplitude * (n * sqrt (1 - c ^ 2))) ^ 2 <= P).
Proof.
intros H.
specialize (H 1 1 1 1). cbv zeta in H.
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
assert (3 / 2 < (sqrt 1 / sqrt (1 ^ 2 + 1 ^ 2) * (1 + 1 * 1)) ^ 2) by interval.
assert (0 <= (sqrt 1 / sqrt (1 ^ 2 + 1 ^ 2) * (1 * sqrt (1 - 1 ^ 2))) ^ 2) by apply pow2_ge_0.
lra.
Qed.

(* FDP-E32: the square of a device's part, less its target *)
Theorem FDP_E32_false :
  ~ (forall p w (K : nat), 1 / 100 <= p <= 1 -> 1 / 100 <= w <= 1 -> (1 <= K)%nat ->
     E (coin p) (fun t => (t * w - / INR K) ^ 2) = p * w - 2 * p * w / INR K + (/ INR K) ^ 2).
Proof.
intros H.
specialize (H 1 (1 / 2) 1%nat). simpl in H.
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [lra | repeat constructor].
Qed.

(* the error of K equal devices, features 1, weights 1/K, each with noise of its own while it takes part: K = 1 and K = 2 *)
Definition mse_1 (D p : R) (G N : (R -> R) -> R) : R :=
  E (coin p) (fun t => G (fun n => N (fun m => (D * (t * (1 + n)) - 1 + D * m) ^ 2))).

Definition mse_2 (D p : R) (G H N : (R -> R) -> R) : R :=
  E (coin p) (fun t => E (coin p) (fun u => G (fun n => H (fun o => N (fun m =>
    (D * (t * (1 / 2 + n) + u * (1 / 2 + o)) - 1 + D * m) ^ 2))))).

Lemma mse_1_is D p variance floor G N : noise variance G -> noise floor N ->
  mse_1 D p G N = (p * D - 1) ^ 2 + p * (1 - p) * D ^ 2 + D ^ 2 * (p * variance + floor).
Proof.
intros HG HN. unfold mse_1. cbn [E coin].
pose proof HG as (linear & one & mean & second & same).
assert (inner : forall t, G (fun n => N (fun m => (D * (t * (1 + n)) - 1 + D * m) ^ 2))
  = (D * t - 1) ^ 2 + (D * t) ^ 2 * variance + D ^ 2 * floor).
{ intros t.
  rewrite (same _ (fun n => 1 * ((D * t - 1 + D * t * n) ^ 2) + (D ^ 2 * floor) * 1)).
  - rewrite (linear 1 (D ^ 2 * floor) (fun n => (D * t - 1 + D * t * n) ^ 2) (fun _ => 1)).
    rewrite (noise_square variance G HG), one. ring.
  - intros n. rewrite (noise_square floor N HN (D * (t * (1 + n)) - 1) D). ring. }
rewrite !inner. ring.
Qed.

Lemma mse_2_is D p variance floor G H N : noise variance G -> noise variance H -> noise floor N ->
  mse_2 D p G H N = (p * D - 1) ^ 2 + p * (1 - p) * D ^ 2 / 2 + D ^ 2 * (2 * p * variance + floor).
Proof.
intros HG HH HN. unfold mse_2. cbn [E coin].
assert (inner : forall t u, G (fun n => H (fun o => N (fun m =>
    (D * (t * (1 / 2 + n) + u * (1 / 2 + o)) - 1 + D * m) ^ 2)))
  = (D * (t + u) / 2 - 1) ^ 2 + (D * t) ^ 2 * variance + (D * u) ^ 2 * variance + D ^ 2 * floor).
{ intros t u.
  pose proof HG as (linear & one & mean & second & same).
  pose proof HH as (linear' & one' & mean' & second' & same').
  rewrite (same _ (fun n => 1 * ((D * (t + u) / 2 - 1 + D * t * n) ^ 2) + ((D * u) ^ 2 * variance + D ^ 2 * floor) * 1)).
  - rewrite (linear 1 _ (fun n => (D * (t + u) / 2 - 1 + D * t * n) ^ 2) (fun _ => 1)).
    rewrite (noise_square variance G HG), one. ring.
  - intros n.
    rewrite (same' _ (fun o => 1 * ((D * (t + u) / 2 - 1 + D * t * n + D * u * o) ^ 2) + (D ^ 2 * floor) * 1)).
    + rewrite (linear' 1 _ (fun o => (D * (t + u) / 2 - 1 + D * t * n + D * u * o) ^ 2) (fun _ => 1)).
      rewrite (noise_square variance H HH), one'. ring.
    + intros o. rewrite (noise_square floor N HN _ D). ring_simplify. field. }
rewrite !inner. field.
Qed.

(* FDP-MSE, with the printed bound of one device: D = 1/2, always taking part, noise 1, receiver 1/10. Any noise of mean 0. *)
Theorem FDP_MSE_false : forall G N, noise 1 G -> noise (1 / 10) N ->
  ~ (forall D p, 1 / 100 <= D <= 2 -> 1 / 100 <= p <= 1 ->
     mse_1 D p G N <= D ^ 2 * (p * 1 + 1 / 10) + (1 ^ 2 * p - 2 * 1 * p + 1) * D ^ 2).
Proof.
intros G N HG HN H.
specialize (H (1 / 2) 1).
rewrite (mse_1_is _ _ 1 (1 / 10) G N HG HN) in H.
lapply H; [clear H; intros H | lra].
lapply H; [lra | lra].
Qed.

(* FDP-A2: twice as many devices of the same noise *)
Theorem FDP_A2_false : forall G H N, noise 1 G -> noise 1 H -> noise (1 / 10) N ->
  ~ (forall p, 1 / 100 <= p <= 1 -> mse_2 1 p G H N <= mse_1 1 p G N).
Proof.
intros G H N HG HH HN F.
specialize (F 1).
rewrite (mse_1_is _ _ 1 (1 / 10) G N HG HN), (mse_2_is _ _ 1 (1 / 10) G H N HG HH HN) in F.
lapply F; [lra | lra].
Qed.

(* FDP-D2: the outputs from 7 to 12 tell data that give N(10, 1) from data that give N(0, 1), at delta = 1/2 *)
Theorem FDP_D2_false :
  ~ (forall delta mu a b, 1 / 1000000000000 <= delta <= 1 / 2 -> 1 / 100 <= mu <= 100 -> a <= b ->
     let epsilon := mu * sqrt (2 * ln (125 / 100 / delta)) in
     RInt (fun x => phi (x - mu)) a b <= exp epsilon * RInt phi a b + delta).
Proof.
intros H.
specialize (H (1 / 2) 10 7 12). cbv zeta in H.
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
assert (near : 9 / 10 <= RInt (fun x => phi (x - 10)) 7 12) by (unfold phi; integral).
assert (far : 0 <= RInt phi 7 12 <= 1 / 100000000) by (unfold phi; integral with (i_prec 60)).
assert (size : 0 <= exp (10 * sqrt (2 * ln (125 / 100 / (1 / 2)))) <= 2000000) by interval.
assert (product : exp (10 * sqrt (2 * ln (125 / 100 / (1 / 2)))) * RInt phi 7 12 <= 2000000 * (1 / 100000000))
  by (apply Rmult_le_compat; lra).
lra.
Qed.
