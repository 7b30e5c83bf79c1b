(* CorBin-FL: Theorem 1 refuted from Algorithm 2 itself, run by a shared number and private coins. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Model.
Import ListNotations.
Open Scope R_scope.

(* with the shared number z the first client sends plus with probability share i f z, where i + f is 2^d times its probability *)
Definition share (i : nat) (f : R) (z : nat) : R :=
  if (z <? i)%nat then 1 else if (z =? i)%nat then f else 0.

(* the squared error of a pair with alphabet {-A, A} and sum of updates s, over z in 0, ..., n - 1 and both private coins; the second
   client sends minus with probability share k g z *)
Definition pair_mse (A s : R) (n i : nat) (f : R) (k : nat) (g : R) : R :=
  total n (fun z => E (coin (share i f z)) (fun u => E (coin (share k g z)) (fun v =>
    (A * (2 * u - 1) + A * (1 - 2 * v) - s) ^ 2))) / INR n.

Lemma total_linear n a b c f g h :
  total n (fun z => a * f z + b * g z + c * h z) = a * total n f + b * total n g + c * total n h.
Proof. induction n as [|n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma total_same n f g : (forall z, f z = g z) -> total n f = total n g.
Proof. intros same. induction n as [|n IH]; simpl; [reflexivity | now rewrite IH, same]. Qed.

Lemma total_one n : total n (fun _ => 1) = INR n.
Proof. induction n as [|n IH]; [reflexivity | rewrite S_INR; simpl; lra]. Qed.

Lemma total_share n i f : total n (share i f) = if (n <=? i)%nat then INR n else INR i + f.
Proof.
induction n as [|n IH].
- reflexivity.
- cbn [total]. rewrite IH. unfold share.
  destruct (Nat.leb_spec n i); destruct (Nat.leb_spec (S n) i); destruct (Nat.ltb_spec n i);
    destruct (Nat.eqb_spec n i); try lia; rewrite ?S_INR; subst; lra.
Qed.

(* both send plus, or both minus, only where the thresholds lie apart *)
Lemma total_product n i f k g : (k < i)%nat ->
  total n (fun z => share i f z * share k g z) = if (n <=? k)%nat then INR n else INR k + g.
Proof.
intros apart. rewrite <- total_share. apply total_same. intros z. unfold share.
destruct (Nat.ltb_spec z i); destruct (Nat.eqb_spec z i); destruct (Nat.ltb_spec z k); destruct (Nat.eqb_spec z k);
  try lia; lra.
Qed.

Lemma pair_mse_is A s n i f k g : (k < i)%nat -> (i < n)%nat ->
  let q := (INR i + f) / INR n in let b := (INR k + g) / INR n in
  pair_mse A s n i f k g = 4 * A ^ 2 * (q - b) - 4 * A * s * (q - b) + s ^ 2.
Proof.
intros apart inside q b. unfold pair_mse, q, b.
assert (positive : INR n <> 0) by (apply not_0_INR; lia).
rewrite (total_same n _ (fun z => (4 * A ^ 2 - 4 * A * s) * share i f z + (4 * A ^ 2 + 4 * A * s) * share k g z
  + 1 * (s ^ 2 * 1 + (- 8 * A ^ 2) * (share i f z * share k g z) + 0 * 0))).
2: { intros z. simpl. ring. }
rewrite total_linear, !total_share.
rewrite (total_linear n (s ^ 2) (- 8 * A ^ 2) 0 (fun _ => 1) (fun z => share i f z * share k g z) (fun _ => 0)).
rewrite total_product, total_one by assumption.
rewrite !(proj2 (Nat.leb_gt _ _)) by lia.
field. exact positive.
Qed.

(* CB-T1: at updates c + r, ten shared bits, epsilon = 1. The alphabet {-A, 2 + A}, of which the pair always sends one of each, has no error. *)
Theorem CB_T1_false :
  ~ (forall d i k f g epsilon, (1 <= d <= 30)%nat -> 1 / 100 <= epsilon <= 8 -> 0 <= f < 1 -> 0 <= g < 1 ->
     let A := (exp epsilon + 1) / (exp epsilon - 1) in
     INR i + f = 2 ^ d * (1 / 2 + 1 / (2 * A)) -> INR k + g = 2 ^ d * (1 / 2 - 1 / (2 * A)) ->
     pair_mse A 2 (2 ^ d) i f k g
     <= E [(1 / 2, (- A, 2 + A)); (1 / 2, (2 + A, - A))] (fun o => (fst o + snd o - 2) ^ 2) + A ^ 2 / (2 ^ d / 2 ^ 6)).
Proof.
intros H.
set (A := (exp 1 + 1) / (exp 1 - 1)).
assert (A_is : 2163953 / 1000000 <= A <= 2163954 / 1000000) by (unfold A; interval with (i_prec 60)).
specialize (H 10%nat 748%nat 275%nat (2 ^ 10 * (1 / 2 + 1 / (2 * A)) - 748) (2 ^ 10 * (1 / 2 - 1 / (2 * A)) - 275) 1).
cbv zeta in H. fold A in H.
assert (inverse : 462116 / 1000000 <= 1 / A <= 462118 / 1000000) by interval with (i_prec 60).
assert (half : 1 / (2 * A) = (1 / A) / 2) by (field; lra).
rewrite half in H.
lapply H; [clear H; intros H | lia].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | lra].
lapply H; [clear H; intros H | simpl; lra].
lapply H; [clear H; intros H | simpl; lra].
rewrite pair_mse_is in H; [ | lia | vm_compute; lia].
replace (INR (2 ^ 10)) with 1024 in H by (rewrite pow_INR; simpl; lra).
replace (INR 748) with 748 in H by (simpl; lra).
replace (INR 275) with 275 in H by (simpl; lra).
cbn [E fst snd] in H.
replace (4 * A ^ 2 * _ - 4 * A * 2 * _ + 2 ^ 2) with (4 * A - 4) in H by (field; lra).
assert (A ^ 2 <= 5) by (simpl; nra).
lra.
Qed.
