(* CorBin-FL: the pair with any number of shared bits, and the errors of any number of clients. *)

From Coq Require Import Reals Lra Lia Psatz List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Model Sums Rows Gaussian Erfc Classical.
Import ListNotations.
Open Scope R_scope.

(* Radius 1, center 0: a client with the update x sends A with probability chance A x, else -A. *)
Definition alpha (epsilon : R) : R := (exp epsilon + 1) / (exp epsilon - 1).
Definition chance (A x : R) : R := 1 / 2 + x / (2 * A).

Lemma chance_between A x : 1 <= A -> -1 <= x <= 1 -> 0 <= chance A x <= 1.
Proof.
intros HA H. unfold chance. assert (B : 0 < / (2 * A) <= 1 / 2).
{ split. apply Rinv_0_lt_compat; lra. replace (1 / 2) with (/ 2) by field. apply Rinv_le_contravar; lra. }
unfold Rdiv in *. nra.
Qed.

Lemma alpha_above_1 epsilon : 0 < epsilon -> 1 < alpha epsilon.
Proof.
intros H. assert (1 < exp epsilon) by (rewrite <- exp_0; apply exp_increasing, H).
unfold alpha. apply (Rmult_lt_reg_r (exp epsilon - 1)). lra. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(* Algorithm 2 with a shared number z, uniform on 0, ..., n - 1, and private coins. Where i + f is n times the probability of
   plus of the first client, f < 1, it sends plus if z < i, with probability f if z = i. The second sends minus by the same
   rule. *)
Definition share (i : nat) (f : R) (z : nat) : R := if (z <? i)%nat then 1 else if (z =? i)%nat then f else 0.

(* the mean of h over both outputs, here 1 for plus and 0 for minus *)
Definition pair_mean (n i : nat) (f : R) (k : nat) (g : R) (h : R -> R -> R) : R :=
  total n (fun z => E (coin (share i f z)) (fun u => E (coin (share k g z)) (fun v => h u (1 - v)))) / INR n.

Definition levels (n i : nat) (f : R) (k : nat) (g : R) (A x y : R) : Prop :=
  0 <= f < 1 /\ 0 <= g < 1 /\ INR i + f = INR n * chance A x /\ INR k + g = INR n * (1 - chance A y).

(* they are the whole and the fractional parts *)
Lemma levels_exist n A x y : (0 <= chance A x) -> chance A y <= 1 -> exists i f k g, levels n i f k g A x y.
Proof.
intros HX HY. assert (part : forall v, 0 <= v -> exists i f, 0 <= f < 1 /\ INR i + f = v).
{ intros v V. destruct (nfloor_ex v V) as (i & I). exists i, (v - INR i). split; lra. }
destruct (part (INR n * chance A x)) as (i & f & F & I); [apply Rmult_le_pos; [apply pos_INR | exact HX]|].
destruct (part (INR n * (1 - chance A y))) as (k & g & G & K); [apply Rmult_le_pos; [apply pos_INR | lra]|].
exists i, f, k, g. unfold levels. tauto.
Qed.

Lemma level_inside n i f q : (0 < n)%nat -> 0 <= f < 1 -> 0 <= q <= 1 -> INR i + f = INR n * q -> (i <= n)%nat /\ (i = n ->
  f = 0).
Proof.
intros N F Q H. assert (0 < INR n) by (apply lt_0_INR, N). assert (INR n * q <= INR n) by nra. split.
- apply INR_le. lra.
- intros ->. lra.
Qed.

Lemma total_share n i f : (i <= n)%nat -> (i = n -> f = 0) -> total n (share i f) = INR i + f.
Proof.
intros H Z. assert (B : total i (share i f) = INR i).
{ rewrite (total_ext i _ (fun _ => 1)). rewrite total_const; ring. intros z Hz. unfold share.
  replace (z <? i)%nat with true by (symmetry; apply Nat.ltb_lt; exact Hz). reflexivity. }
destruct (Nat.eq_dec i n) as [->|N]. rewrite B, Z; [ring | reflexivity].
assert (C : forall m, total (i + S m) (share i f) = INR i + f).
{ induction m as [|m IH].
  - replace (i + 1)%nat with (S i) by lia. simpl. rewrite B. unfold share. rewrite Nat.ltb_irrefl, Nat.eqb_refl. reflexivity.
  - replace (i + S (S m))%nat with (S (i + S m)) by lia. simpl total. rewrite IH. unfold share.
    replace (i + S m <? i)%nat with false by (symmetry; apply Nat.ltb_ge; lia).
    replace (i + S m =? i)%nat with false by (symmetry; apply Nat.eqb_neq; lia). ring. }
replace n with (i + S (n - i - 1))%nat by lia. apply C.
Qed.

Lemma total_product n i f k g : (i <= n)%nat -> (i = n -> f = 0) -> (k <= n)%nat -> (k = n -> g = 0) ->
  total n (fun z => share i f z * share k g z)
  = if (k <? i)%nat then INR k + g else if (i <? k)%nat then INR i + f else INR i + f * g.
Proof.
intros I FI H G. destruct (Nat.ltb_spec k i) as [L|L]; [|destruct (Nat.ltb_spec i k) as [L'|L']].
- rewrite <- (total_share n k g H G). apply total_ext. intros z _. unfold share.
  destruct (Nat.ltb_spec z i); destruct (Nat.eqb_spec z i); destruct (Nat.ltb_spec z k); destruct (Nat.eqb_spec z k);
    try lia; ring.
- rewrite <- (total_share n i f I FI). apply total_ext. intros z _. unfold share.
  destruct (Nat.ltb_spec z i); destruct (Nat.eqb_spec z i); destruct (Nat.ltb_spec z k); destruct (Nat.eqb_spec z k);
    try lia; ring.
- assert (k = i) by lia. subst k. rewrite <- (total_share n i (f * g)).
  + apply total_ext. intros z _. unfold share. destruct (z <? i)%nat; destruct (z =? i)%nat; ring.
  + exact I.
  + intros E. rewrite (FI E). ring.
Qed.

(* what the four cells are made of: the marginals, and the probability that both send plus *)
Definition both (n i : nat) (f : R) (k : nat) (g : R) : R := pair_mean n i f k g (fun u v => u * v).

Lemma pair_mean_is n i f k g A x y h : (0 < n)%nat -> levels n i f k g A x y -> 0 <= chance A x <= 1 -> 0 <= chance A y <= 1 ->
  pair_mean n i f k g h = both n i f k g * h 1 1 + (chance A x - both n i f k g) * h 1 0 + (chance A y - both n i f k g) * h 0 1
    + (1 - chance A x - chance A y + both n i f k g) * h 0 0.
Proof.
intros N (F & G & X & Y) HX HY. assert (0 < INR n) by (apply lt_0_INR, N).
destruct (level_inside n i f _ N F HX X) as (I & FI). destruct (level_inside n k g (1 - chance A y) N G ltac:(lra) Y) as (J & GJ).
unfold both, pair_mean. cbn [E coin].
rewrite (total_ext n (fun z => share i f z * (share k g z * h 1 (1 - 1) + _) + _)
  (fun z => (h 1 1 - h 0 1) * share i f z + (h 0 0 - h 0 1) * share k g z
            + (h 1 0 + h 0 1 - h 1 1 - h 0 0) * (share i f z * share k g z) + h 0 1))
  by (intros; replace (1 - 1) with 0 by ring; replace (1 - 0) with 1 by ring; ring).
rewrite (total_ext n (fun z => share i f z * (share k g z * (1 * (1 - 1)) + _) + _)
  (fun z => share i f z - share i f z * share k g z)) by (intros; ring).
rewrite total_minus, !total_plus, !total_times, total_const, !total_share by assumption.
replace (chance A x) with ((INR i + f) / INR n) by (rewrite X; field; lra).
replace (chance A y) with (1 - (INR k + g) / INR n) by (rewrite Y; field; lra). field. lra.
Qed.

Lemma both_is n i f k g A x y : (0 < n)%nat -> 0 < A -> levels n i f k g A x y -> 0 <= chance A x <= 1 -> 0 <= chance A y <= 1 ->
  both n i f k g = if (i =? k)%nat then f * (1 - g) / INR n else Rmax 0 ((x + y) / (2 * A)).
Proof.
intros N P (F & G & X & Y) HX HY. assert (0 < INR n) by (apply lt_0_INR, N).
destruct (level_inside n i f _ N F HX X) as (I & FI). destruct (level_inside n k g (1 - chance A y) N G ltac:(lra) Y) as (J & GJ).
assert (S : (x + y) / (2 * A) = (INR i + f - (INR k + g)) / INR n) by (rewrite X, Y; unfold chance; field; lra).
unfold both, pair_mean. cbn [E coin].
rewrite (total_ext n _ (fun z => share i f z - share i f z * share k g z)) by (intros; ring).
rewrite total_minus, total_share, total_product by assumption.
destruct (Nat.eqb_spec i k) as [->|D].
- rewrite !Nat.ltb_irrefl. field. lra.
- destruct (Nat.ltb_spec k i) as [L|L].
  + assert (INR k + 1 <= INR i) by (rewrite <- S_INR; apply le_INR; lia). rewrite Rmax_right; [rewrite S; reflexivity|].
    rewrite S. apply Rdiv_le_0_compat; lra.
  + assert (L' : (i < k)%nat) by lia. rewrite (proj2 (Nat.ltb_lt i k) L').
    assert (INR i + 1 <= INR k) by (rewrite <- S_INR; apply le_INR; lia). rewrite Rmax_left; [field; lra|].
    rewrite S. replace ((INR i + f - (INR k + g)) / INR n) with (- ((INR k + g - (INR i + f)) / INR n)) by (field; lra).
    assert (0 <= (INR k + g - (INR i + f)) / INR n) by (apply Rdiv_le_0_compat; lra). lra.
Qed.

Lemma cells_positive d : (0 < 2 ^ d)%nat.
Proof. generalize (Nat.pow_nonzero 2 d). lia. Qed.

Theorem CB_A2 d i f k g A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> levels (2 ^ d) i f k g A x y ->
  pair_mean (2 ^ d) i f k g (fun u v => u * v)
  = if (i =? k)%nat then f * (1 - g) / 2 ^ d else Rmax 0 ((x + y) / (2 * A)).
Proof.
intros HA HX HY H. replace (2 ^ d) with (INR (2 ^ d)) by (rewrite pow_INR; reflexivity).
apply both_is; try assumption; try lra. apply cells_positive. apply chance_between; assumption. apply chance_between; assumption.
Qed.

(* the output of plus is A, that of minus -A *)
Definition pair_error (n i : nat) (f : R) (k : nat) (g : R) (A s : R) : R :=
  pair_mean n i f k g (fun u v => (A * (2 * u - 1) + A * (2 * v - 1) - s) ^ 2).

Theorem CB_T1_star d i f k g A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> levels (2 ^ d) i f k g A x y ->
  let s := x + y in
  pair_error (2 ^ d) i f k g A s
  = 2 * A * Rabs s - s ^ 2 + 8 * A ^ 2 / 2 ^ d * (if (i =? k)%nat then Rmin f g - f * g else 0).
Proof.
intros HA HX HY H s. generalize (chance_between A x HA HX) (chance_between A y HA HY) (cells_positive d). intros PX PY N.
unfold pair_error. rewrite (pair_mean_is _ _ _ _ _ A x y _ N H PX PY).
rewrite (both_is _ _ _ _ _ A x y N ltac:(lra) H PX PY). fold s.
assert (M : INR (2 ^ d) = 2 ^ d) by (rewrite pow_INR; reflexivity). rewrite M.
assert (T : 0 < 2 ^ d) by (apply pow_lt; lra).
assert (S : chance A x + chance A y - 1 = s / (2 * A)) by (unfold chance, s; field; lra).
destruct (Nat.eqb_spec i k) as [->|D].
- destruct H as (_ & _ & X & Y). rewrite M in X, Y.
  assert (Q : s = 2 * A * ((f - g) / 2 ^ d)).
  { replace (f - g) with (2 ^ d * (chance A x + chance A y - 1)) by lra. rewrite S. field. lra. }
  replace (chance A y) with (1 - chance A x + s / (2 * A)) by lra.
  assert (B : Rabs s = 2 * A * (Rabs (f - g) / 2 ^ d)).
  { rewrite Q. unfold Rdiv. rewrite !Rabs_mult, (Rabs_pos_eq (/ 2 ^ d)), (Rabs_pos_eq A), (Rabs_pos_eq 2) by
      (try lra; left; apply Rinv_0_lt_compat, T). reflexivity. }
  rewrite B, Q. apply Rmin_case_strong; intros L.
  + rewrite (Rabs_left1 (f - g)) by lra. field. lra.
  + rewrite (Rabs_pos_eq (f - g)) by lra. field. lra.
- replace (chance A y) with (1 - chance A x + s / (2 * A)) by lra.
  destruct (Rle_lt_dec 0 s) as [L|L].
  + rewrite Rmax_right by (apply Rdiv_le_0_compat; lra). rewrite Rabs_pos_eq by exact L. field. lra.
  + rewrite Rmax_left. rewrite Rabs_left by exact L. field. lra.
    unfold Rdiv. assert (0 < / (2 * A)) by (apply Rinv_0_lt_compat; lra). nra.
Qed.

Lemma coins_at_most f g : 0 <= f < 1 -> 0 <= g < 1 -> 0 <= Rmin f g - f * g <= 1 / 4.
Proof.
intros F G. apply Rmin_case_strong; intros L.
- generalize (pow2_ge_0 (f - 1 / 2)). nra.
- generalize (pow2_ge_0 (g - 1 / 2)). nra.
Qed.

(* the limit of infinitely many shared bits: a shared number, uniform on [0, 1] *)
Definition limit_mean (A x y : R) (h : R -> R -> R) : R :=
  RInt (fun z => h (if Rlt_dec z (chance A x) then 1 else 0) (if Rlt_dec z (1 - chance A y) then 0 else 1)) 0 1.

Lemma limit_mean_is A x y h : 0 < A -> 0 <= chance A x <= 1 -> 0 <= chance A y <= 1 ->
  let both := Rmax 0 ((x + y) / (2 * A)) in
  limit_mean A x y h = both * h 1 1 + (chance A x - both) * h 1 0 + (chance A y - both) * h 0 1
    + (1 - chance A x - chance A y + both) * h 0 0.
Proof.
intros P HX HY both. unfold limit_mean. set (F := fun z => h _ _).
assert (S : (x + y) / (2 * A) = chance A x - (1 - chance A y)) by (unfold chance; field; lra).
assert (constant : forall a b c, a <= b -> (forall z, a < z < b -> F z = c) -> is_RInt F a b ((b - a) * c)).
{ intros a b c L C. apply (is_RInt_ext (fun _ => c)).
  - rewrite Rmin_left, Rmax_right by exact L. intros z Hz. symmetry. apply C, Hz.
  - apply (is_RInt_const (V := R_NormedModule)). }
set (q := chance A x) in *. set (t := 1 - chance A y) in *. apply is_RInt_unique. unfold both. rewrite S.
destruct (Rle_lt_dec t q) as [L|L].
- rewrite Rmax_right by lra.
  replace (_ + _) with ((t - 0) * h 1 0 + ((q - t) * h 1 1 + (1 - q) * h 0 1)) by (unfold t; ring).
  apply (is_RInt_Chasles (V := R_NormedModule) F 0 t 1); [|apply (is_RInt_Chasles (V := R_NormedModule) F t q 1)]; apply constant;
    try lra; try (unfold t; lra); intros z Hz; unfold F; fold q t;
    destruct (Rlt_dec z q); destruct (Rlt_dec z t); try (exfalso; lra); reflexivity.
- rewrite Rmax_left by lra.
  replace (_ + _) with ((q - 0) * h 1 0 + ((t - q) * h 0 0 + (1 - t) * h 0 1)) by (unfold t; ring).
  apply (is_RInt_Chasles (V := R_NormedModule) F 0 q 1); [|apply (is_RInt_Chasles (V := R_NormedModule) F q t 1)]; apply constant;
    try lra; try (unfold t; lra); intros z Hz; unfold F; fold q t;
    destruct (Rlt_dec z q); destruct (Rlt_dec z t); try (exfalso; lra); reflexivity.
Qed.

Definition limit_error (A x y : R) : R := limit_mean A x y (fun u v => (A * (2 * u - 1) + A * (2 * v - 1) - (x + y)) ^ 2).

Lemma limit_error_is A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> limit_error A x y = 2 * A * Rabs (x + y) - (x + y) ^ 2.
Proof.
intros HA HX HY. unfold limit_error. rewrite limit_mean_is by (try apply chance_between; lra).
set (s := x + y). assert (S : chance A x + chance A y - 1 = s / (2 * A)) by (unfold chance, s; field; lra).
replace (chance A y) with (1 - chance A x + s / (2 * A)) by lra.
destruct (Rle_lt_dec 0 s) as [L|L].
- rewrite Rmax_right by (apply Rdiv_le_0_compat; lra). rewrite Rabs_pos_eq by exact L. field. lra.
- rewrite Rmax_left. rewrite Rabs_left by exact L. field. lra.
  unfold Rdiv. assert (0 < / (2 * A)) by (apply Rinv_0_lt_compat; lra). nra.
Qed.

Theorem CB_T1_star_bits d i f k g A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> levels (2 ^ d) i f k g A x y ->
  pair_error (2 ^ d) i f k g A (x + y) - limit_error A x y <= A ^ 2 / (2 ^ d / 2).
Proof.
intros HA HX HY H. rewrite (CB_T1_star d i f k g A x y HA HX HY H), limit_error_is by assumption.
assert (T : 0 < 2 ^ d) by (apply pow_lt; lra).
assert (B : (if (i =? k)%nat then Rmin f g - f * g else 0) <= 1 / 4).
{ destruct (i =? k)%nat; [|lra]. destruct H as (F & G & _). apply coins_at_most; assumption. }
assert (C : 0 <= 8 * A ^ 2 / 2 ^ d) by (apply Rdiv_le_0_compat; nra).
apply Rle_trans with (8 * A ^ 2 / 2 ^ d * (1 / 4)). nra. right. field. lra.
Qed.

(* a cell: whether the first client sends plus, and whether the second does *)
Definition cell (a b : bool) (u v : R) : R := (if a then u else 1 - u) * (if b then v else 1 - v).

Theorem CB_T1_cells d i f k g A x y a b : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> levels (2 ^ d) i f k g A x y ->
  2 ^ d * Rabs (pair_mean (2 ^ d) i f k g (cell a b) - limit_mean A x y (cell a b)) <= 1 / 4.
Proof.
intros HA HX HY H. generalize (chance_between A x HA HX) (chance_between A y HA HY) (cells_positive d). intros PX PY N.
rewrite (pair_mean_is _ _ _ _ _ A x y _ N H PX PY), limit_mean_is by (assumption || lra).
rewrite (both_is _ _ _ _ _ A x y N ltac:(lra) H PX PY).
assert (M : INR (2 ^ d) = 2 ^ d) by (rewrite pow_INR; reflexivity). rewrite M.
assert (T : 0 < 2 ^ d) by (apply pow_lt; lra).
set (P := if (i =? k)%nat then _ else _). set (Q := Rmax 0 _).
replace (_ - _) with ((P - Q) * (cell a b 1 1 - cell a b 1 0 - cell a b 0 1 + cell a b 0 0)) by ring.
replace (_ * _) with (2 ^ d * Rabs (P - Q) * Rabs (cell a b 1 1 - cell a b 1 0 - cell a b 0 1 + cell a b 0 0))
  by (rewrite Rabs_mult; ring).
replace (Rabs (cell a b 1 1 - _ - _ + _)) with 1.
2: { unfold cell. destruct a, b; unfold Rabs; destruct Rcase_abs; lra. }
rewrite Rmult_1_r. unfold P, Q. destruct (Nat.eqb_spec i k) as [->|D].
- destruct H as (F & G & X & Y). rewrite M in X, Y.
  replace ((x + y) / (2 * A)) with ((f - g) / 2 ^ d).
  2: { replace (f - g) with (2 ^ d * (chance A x + chance A y - 1)) by lra. unfold chance. field. lra. }
  generalize (coins_at_most f g F G). apply Rmin_case_strong; intros L B.
  + rewrite Rmax_left. rewrite Rminus_0_r, Rabs_pos_eq.
    replace (2 ^ d * (f * (1 - g) / 2 ^ d)) with (f - f * g) by (field; lra). lra.
    apply Rdiv_le_0_compat; nra.
    unfold Rdiv. assert (0 < / 2 ^ d) by (apply Rinv_0_lt_compat, T). nra.
  + rewrite Rmax_right by (apply Rdiv_le_0_compat; lra).
    replace (f * (1 - g) / 2 ^ d - (f - g) / 2 ^ d) with ((g - f * g) / 2 ^ d) by (field; lra).
    rewrite Rabs_pos_eq by (apply Rdiv_le_0_compat; lra).
    replace (2 ^ d * ((g - f * g) / 2 ^ d)) with (g - f * g) by (field; lra). lra.
- rewrite Rminus_eq_0, Rabs_R0. lra.
Qed.

(* The mean of a function of the sum of a pair's outputs, and of the output of a client that quantizes alone. *)
Definition pair_law (A x y : R) (h : R -> R) : R := limit_mean A x y (fun u v => h (A * (2 * u - 1) + A * (2 * v - 1))).
Definition single_law (A x : R) (h : R -> R) : R := E (coin (chance A x)) (fun u => h (A * (2 * u - 1))).

Definition pair_variance (A s : R) : R := 2 * A * Rabs s - s ^ 2.
Definition single_variance (A x : R) : R := A ^ 2 - x ^ 2.

Lemma pair_law_moments A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 ->
  moments (x + y) (pair_variance A (x + y)) (pair_law A x y).
Proof.
intros HA HX HY a b c. unfold pair_law. rewrite limit_mean_is by (try apply chance_between; lra). unfold pair_variance.
set (s := x + y). assert (S : chance A x + chance A y - 1 = s / (2 * A)) by (unfold chance, s; field; lra).
replace (chance A y) with (1 - chance A x + s / (2 * A)) by lra.
destruct (Rle_lt_dec 0 s) as [L|L].
- rewrite Rmax_right by (apply Rdiv_le_0_compat; lra). rewrite Rabs_pos_eq by exact L. field. lra.
- rewrite Rmax_left. rewrite Rabs_left by exact L. field. lra.
  unfold Rdiv. assert (0 < / (2 * A)) by (apply Rinv_0_lt_compat; lra). nra.
Qed.

Lemma single_law_moments A x : 1 <= A -> moments x (single_variance A x) (single_law A x).
Proof. intros HA a b c. unfold single_law, chance, single_variance. simpl. field. lra. Qed.

(* P pairs, of the clients 2 j and 2 j + 1, and N clients alone, those from 2 P on; the squared error of the mean of all
   outputs *)
Definition group_law (A : R) (P : nat) (w : nat -> R) (j : nat) : (R -> R) -> R :=
  if (j <? P)%nat then pair_law A (w (2 * j)%nat) (w (2 * j + 1)%nat) else single_law A (w (2 * P + (j - P))%nat).
Definition error (P N : nat) (A : R) (w : nat -> R) : R :=
  each 0 (group_law A P w) (P + N) (fun Q => (total (P + N) Q / INR (2 * P + N) - total (2 * P + N) w / INR (2 * P + N)) ^ 2).

Lemma total_pairs P w : total (2 * P) w = total P (fun j => w (2 * j)%nat + w (2 * j + 1)%nat).
Proof.
induction P as [|P IH]; [reflexivity|]. replace (2 * S P)%nat with (S (S (2 * P))) by lia. cbn [total]. rewrite IH.
replace (2 * P + 1)%nat with (S (2 * P)) by lia. ring.
Qed.

Lemma total_split a b f : total (a + b) f = total a f + total b (fun i => f (a + i)%nat).
Proof.
induction b as [|b IH]; [rewrite Nat.add_0_r; simpl; ring|]. replace (a + S b)%nat with (S (a + b)) by lia. simpl.
rewrite IH. ring.
Qed.

Definition bounded (w : nat -> R) : Prop := forall i, -1 <= w i <= 1.

Lemma error_is P N A w : 1 <= A -> bounded w -> (0 < 2 * P + N)%nat ->
  error P N A w = (total P (fun j => pair_variance A (w (2 * j)%nat + w (2 * j + 1)%nat))
                   + total N (fun k => single_variance A (w (2 * P + k)%nat))) / INR (2 * P + N) ^ 2.
Proof.
intros HA B H. set (n := INR (2 * P + N)). assert (n <> 0) by (apply not_0_INR; lia).
set (mean := fun j => if (j <? P)%nat then w (2 * j)%nat + w (2 * j + 1)%nat else w (2 * P + (j - P))%nat).
set (variance := fun j => if (j <? P)%nat then pair_variance A (w (2 * j)%nat + w (2 * j + 1)%nat)
  else single_variance A (w (2 * P + (j - P))%nat)).
assert (M : forall j, (j < P + N)%nat -> moments (mean j) (variance j) (group_law A P w j)).
{ intros j _. unfold mean, variance, group_law. destruct (j <? P)%nat. apply pair_law_moments; auto.
  apply single_law_moments, HA. }
assert (sum_of_groups : forall f g, total (P + N) (fun j => if (j <? P)%nat then f j else g (j - P)%nat) = total P f + total N g).
{ intros f g. rewrite total_split. f_equal; apply total_ext; intros j Hj.
  - replace (j <? P)%nat with true by (symmetry; apply Nat.ltb_lt; exact Hj). reflexivity.
  - replace (P + j <? P)%nat with false by (symmetry; apply Nat.ltb_ge; lia). f_equal. lia. }
unfold error. fold n.
transitivity (each 0 (group_law A P w) (P + N) (fun Q => 0 + total 1
  (fun s => (- (total (2 * P + N) w / n) + total (P + N) (fun j => / n * Q j)) ^ 2)
  + total (P + N) (fun j => 0 * Q j ^ 2))).
- apply each_ext. intros Q. rewrite !total_times. cbn [total]. unfold Rdiv. ring.
- rewrite (mean_squares _ mean variance) by exact M. cbn [total].
  rewrite total_times. replace (total (P + N) mean) with (total (2 * P + N) w).
  2: { unfold mean. rewrite (sum_of_groups _ (fun k => w (2 * P + k)%nat)), total_split, total_pairs. reflexivity. }
  rewrite (total_ext (P + N) _ (fun j => / n ^ 2 * variance j)) by (intros; field; assumption).
  rewrite total_times. unfold variance. rewrite (sum_of_groups _ (fun k => single_variance A (w (2 * P + k)%nat))). field.
  assumption.
Qed.

(* The greatest error of a pair. *)
Definition worst_pair (A : R) : R := if Rle_dec A 2 then A ^ 2 else 4 * A - 4.

Lemma worst_pair_above A s : 1 <= A -> -2 <= s <= 2 -> pair_variance A s <= worst_pair A.
Proof.
intros HA H. unfold pair_variance, worst_pair. replace (s ^ 2) with (Rabs s ^ 2) by apply pow2_abs.
assert (B : 0 <= Rabs s <= 2) by (split; [apply Rabs_pos | apply Rabs_le; exact H]). set (t := Rabs s) in *.
destruct (Rle_dec A 2) as [L|L]. generalize (pow2_ge_0 (A - t)). lra. nra.
Qed.

Lemma worst_pair_attained A : 1 <= A -> exists u, -1 <= u <= 1 /\ pair_variance A (u + u) = worst_pair A.
Proof.
intros HA. unfold pair_variance, worst_pair. destruct (Rle_dec A 2) as [L|L].
- exists (A / 2). split. lra. replace (A / 2 + A / 2) with A by field. rewrite Rabs_pos_eq by lra. ring.
- exists 1. split. lra. rewrite Rabs_pos_eq by lra. ring.
Qed.

Lemma worst_pair_at_most A : 1 <= A -> worst_pair A <= A ^ 2.
Proof. intros HA. unfold worst_pair. destruct (Rle_dec A 2). lra. generalize (pow2_ge_0 (A - 2)). lra. Qed.

Lemma worst_pair_at_least A : 1 <= A -> A <= worst_pair A.
Proof. intros HA. unfold worst_pair. destruct (Rle_dec A 2); nra. Qed.

(* a law of the order in which clients come, for instance the uniform one *)
Definition is_law {B : Type} (l : law B) : Prop := (forall p b, In (p, b) l -> 0 <= p) /\ E l (fun _ => 1) = 1.

Lemma mean_at_most {B : Type} (l : law B) f m : is_law l -> (forall b, f b <= m) -> E l f <= m.
Proof.
intros (P & T) H. replace m with (m * E l (fun _ => 1)) by (rewrite T; ring). clear T. induction l as [|(p, b) l IH]; simpl. lra.
assert (E l f <= m * E l (fun _ => 1)) by (apply IH; intros p' b' I; apply (P p' b'); right; exact I).
assert (p * f b <= p * m) by (apply Rmult_le_compat_l; [apply (P p b); left; reflexivity | apply H]). lra.
Qed.

Lemma mean_same {B : Type} (l : law B) f m : is_law l -> (forall p b, In (p, b) l -> f b = m) -> E l f = m.
Proof.
intros (_ & T) H. replace m with (m * E l (fun _ => 1)) by (rewrite T; ring). clear T. induction l as [|(p, b) l IH]; simpl. ring.
rewrite IH, (H p b); [ring | left; reflexivity | intros p' b' I; apply (H p' b'); right; exact I].
Qed.

(* the mean squared error over the orders; sigma i is the client in the place i *)
Definition mean_error (orders : law (nat -> nat)) (P N : nat) (A : R) (w : nat -> R) : R :=
  E orders (fun sigma => error P N A (fun i => w (sigma i))).

Definition greatest (P N : nat) (A : R) : R := (INR N * A ^ 2 + INR P * worst_pair A) / INR (2 * P + N) ^ 2.

Lemma mean_error_at_most orders P N A w : 1 <= A -> is_law orders -> (0 < 2 * P + N)%nat -> bounded w ->
  mean_error orders P N A w <= greatest P N A.
Proof.
intros HA L H B. assert (0 < INR (2 * P + N)) by (apply lt_0_INR, H).
assert (positive : 0 < / INR (2 * P + N) ^ 2) by (apply Rinv_0_lt_compat, pow_lt; assumption).
apply mean_at_most. exact L. intros sigma.
rewrite error_is; [|exact HA | intros i; apply B | exact H]. apply Rmult_le_compat_r. lra. rewrite Rplus_comm, <- !total_const.
apply Rplus_le_compat; apply total_le; intros j _.
- unfold single_variance. generalize (pow2_ge_0 (w (sigma (2 * P + j)%nat))). lra.
- apply worst_pair_above. exact HA. generalize (B (sigma (2 * j)%nat)) (B (sigma (2 * j + 1)%nat)). lra.
Qed.

(* the first 2 P clients are paired in any way, the others are alone; v is the greatest error over all updates *)
Definition pairing (P N : nat) (orders : law (nat -> nat)) : Prop :=
  is_law orders /\ forall p sigma i, In (p, sigma) orders -> (i < 2 * P + N)%nat -> ((sigma i < 2 * P)%nat <-> (i < 2 * P)%nat).

Definition worst (orders : law (nat -> nat)) (P N : nat) (A v : R) : Prop :=
  is_lub (fun e => exists w, bounded w /\ e = mean_error orders P N A w) v.

Lemma worst_is orders P N A : 1 <= A -> pairing P N orders -> (0 < 2 * P + N)%nat -> worst orders P N A (greatest P N A).
Proof.
intros HA (L & S) H. split.
- intros e (w & B & ->). apply mean_error_at_most; assumption.
- intros b HB. destruct (worst_pair_attained A HA) as (u & U & V). apply HB.
  set (w := fun i => if (i <? 2 * P)%nat then u else 0).
  assert (W : bounded w) by (intros i; unfold w; destruct (i <? 2 * P)%nat; lra).
  exists w. split; [exact W|]. symmetry. apply (mean_same orders _ _ L).
  intros p sigma I. rewrite error_is; [|exact HA | intros i; apply W | exact H]. unfold greatest. f_equal.
  rewrite Rplus_comm, <- !total_const. f_equal; apply total_ext; intros j Hj.
  + unfold w. replace (sigma (2 * P + j) <? 2 * P)%nat with false. unfold single_variance; ring.
    symmetry. apply Nat.ltb_ge. destruct (S p sigma (2 * P + j)%nat I ltac:(lia)) as (S1 & _). lia.
  + unfold w. replace (sigma (2 * j) <? 2 * P)%nat with true. replace (sigma (2 * j + 1) <? 2 * P)%nat with true. exact V.
    * symmetry. apply Nat.ltb_lt. apply (S p sigma _ I); lia.
    * symmetry. apply Nat.ltb_lt. apply (S p sigma _ I); lia.
Qed.

Lemma worst_unique orders P N A v : 1 <= A -> pairing P N orders -> (0 < 2 * P + N)%nat -> worst orders P N A v ->
  v = greatest P N A.
Proof.
intros HA S H (U & V). destruct (worst_is orders P N A HA S H) as (U' & V'). apply Rle_antisym. apply V, U'. apply V', U.
Qed.

(* P pairs and, of an odd number of clients, N = 1 alone, which may be any of them; equal updates attain it if there is none *)
Theorem CB_T2_star_worst orders P N A : 1 <= A -> is_law orders -> (0 < 2 * P + N)%nat ->
  (forall w, bounded w -> mean_error orders P N A w <= greatest P N A)
  /\ (N = 0%nat -> pairing P N orders -> worst orders P N A (greatest P N A)).
Proof. intros HA L H. split; [intros w B; apply mean_error_at_most | intros _ S; apply worst_is]; assumption. Qed.

(* the clients one after the other *)
Lemma in_order P N : pairing P N [(1, fun i => i)].
Proof.
split; [split|].
- intros p b [I | []]. injection I. intros _ <-. lra.
- simpl. ring.
- intros p sigma i [I | []] _. injection I. intros <- _. tauto.
Qed.

(* the uniform law, of any orders *)
Lemma uniform_is_law {B : Type} (l : list B) : l <> [] -> is_law (map (fun b => (/ INR (length l), b)) l).
Proof.
intros N. assert (0 < INR (length l)) by (apply lt_0_INR; destruct l; [contradiction | simpl; lia]). split.
- intros p b I. apply in_map_iff in I. destruct I as (b' & I & _). injection I. intros _ <-. left. apply Rinv_0_lt_compat.
  assumption.
- assert (S : forall c (m : list B), E (map (fun b => (c, b)) m) (fun _ => 1) = INR (length m) * c).
  { intros c m. induction m as [|b m IH]. simpl; ring. change (length (b :: m)) with (S (length m)). rewrite S_INR. simpl.
    rewrite IH. ring. }
  rewrite S. field. lra.
Qed.

(* LDP-FL is P = 0, CorBin-FL of an even number of clients N = 0 *)
Theorem CB_rem orders orders' P A ldp corbin : 1 <= A -> (0 < P)%nat -> pairing 0 (2 * P) orders -> pairing P 0 orders' ->
  worst orders 0 (2 * P) A ldp -> worst orders' P 0 A corbin -> 2 <= ldp / corbin.
Proof.
intros HA HP S S' W W'. rewrite (worst_unique _ _ _ _ _ HA S ltac:(lia) W), (worst_unique _ _ _ _ _ HA S' ltac:(lia) W').
unfold greatest. rewrite Nat.mul_0_r, Nat.add_0_l, Nat.add_0_r, mult_INR. simpl (INR 0). simpl (INR 2).
assert (0 < INR P) by (apply lt_0_INR, HP). generalize (worst_pair_at_most A HA) (worst_pair_at_least A HA). intros U V.
apply (Rmult_le_reg_r (worst_pair A)). lra.
replace (_ / _ * worst_pair A) with (2 * A ^ 2) by (field; split; lra). lra.
Qed.

Theorem CB_T3m orders P N A w : 1 <= A -> (0 < 2 * P + N)%nat -> is_law orders -> bounded w ->
  let n := INR (2 * P + N) in let gamma := INR N / n in
  mean_error orders P N A w <= gamma * A ^ 2 / n + (1 - gamma) / (2 * n) * ((sqrt 2 - 1) * A + 1) * ((sqrt 2 + 1) * A - 1).
Proof.
intros HA H L W n gamma. apply Rle_trans with (1 := mean_error_at_most orders P N A w HA L H W). unfold greatest. fold n.
assert (Hn : 0 < n) by (apply lt_0_INR, H).
assert (R2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra).
replace ((1 - gamma) / (2 * n) * ((sqrt 2 - 1) * A + 1) * ((sqrt 2 + 1) * A - 1))
  with ((1 - gamma) / (2 * n) * ((sqrt 2 * sqrt 2 - 1) * A ^ 2 + 2 * A - 1)) by ring.
rewrite R2. assert (K : n = 2 * INR P + INR N) by (unfold n; rewrite plus_INR, mult_INR; reflexivity).
replace (gamma * A ^ 2 / n + (1 - gamma) / (2 * n) * ((2 - 1) * A ^ 2 + 2 * A - 1))
  with ((INR N * A ^ 2 + INR P * (A ^ 2 + 2 * A - 1)) / n ^ 2).
- apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat, pow_lt, Hn.
  generalize (worst_pair_at_most A HA) (pos_INR P). nra.
- unfold gamma. replace (INR P) with ((n - INR N) / 2) by lra. field. lra.
Qed.

Theorem CB_X4 orders orders' P A ldp corbin : 1 <= A -> (0 < P)%nat -> pairing 0 (2 * P) orders -> pairing P 0 orders' ->
  worst orders 0 (2 * P) A ldp -> worst orders' P 0 A corbin -> 2 * corbin <= ldp.
Proof.
intros HA HP S S' W W'. rewrite (worst_unique _ _ _ _ _ HA S ltac:(lia) W), (worst_unique _ _ _ _ _ HA S' ltac:(lia) W').
unfold greatest. rewrite Nat.mul_0_r, Nat.add_0_l, Nat.add_0_r, mult_INR. simpl (INR 0). simpl (INR 2).
assert (0 < INR P) by (apply lt_0_INR, HP). generalize (worst_pair_at_most A HA). intros U.
unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat, pow_lt; lra. nra.
Qed.

(* k of T pairs quantize alone, or more *)
Theorem CB_X6 orders orders' T k k' A v v' : 1 <= A -> (k <= k' <= T)%nat -> (0 < T)%nat ->
  pairing (T - k) (2 * k) orders -> pairing (T - k') (2 * k') orders' ->
  worst orders (T - k) (2 * k) A v -> worst orders' (T - k') (2 * k') A v' -> v <= v'.
Proof.
intros HA K HT S S' W W'. rewrite (worst_unique _ _ _ _ _ HA S ltac:(lia) W), (worst_unique _ _ _ _ _ HA S' ltac:(lia) W').
unfold greatest. replace (2 * (T - k) + 2 * k)%nat with (2 * T)%nat by lia.
replace (2 * (T - k') + 2 * k')%nat with (2 * T)%nat by lia.
apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat, pow_lt, lt_0_INR. lia.
rewrite !minus_INR, !mult_INR by lia. simpl (INR 2). generalize (worst_pair_at_most A HA). intros U.
assert (INR k <= INR k') by (apply le_INR; lia). nra.
Qed.

Lemma alpha_falls e e' : 0 < e <= e' -> alpha e' <= alpha e.
Proof.
intros H. assert (1 < exp e) by (rewrite <- exp_0; apply exp_increasing; lra).
assert (exp e <= exp e') by (destruct (Req_dec e e') as [->|N]; [lra | left; apply exp_increasing; lra]).
unfold alpha. replace ((exp e' + 1) / (exp e' - 1)) with (1 + 2 / (exp e' - 1)) by (field; lra).
replace ((exp e + 1) / (exp e - 1)) with (1 + 2 / (exp e - 1)) by (field; lra).
apply Rplus_le_compat_l. apply Rmult_le_compat_l. lra. apply Rinv_le_contravar; lra.
Qed.

Theorem CB_X7 o1 o2 o3 o4 P e e' ldp corbin ldp' corbin' : 0 < e <= e' -> (0 < P)%nat ->
  pairing 0 (2 * P) o1 -> pairing P 0 o2 -> pairing 0 (2 * P) o3 -> pairing P 0 o4 ->
  worst o1 0 (2 * P) (alpha e) ldp -> worst o2 P 0 (alpha e) corbin ->
  worst o3 0 (2 * P) (alpha e') ldp' -> worst o4 P 0 (alpha e') corbin' -> ldp' / corbin' <= ldp / corbin.
Proof.
intros H HP S1 S2 S3 S4 W1 W2 W3 W4.
assert (A1 : 1 <= alpha e) by (left; apply alpha_above_1; lra). assert (A2 : 1 <= alpha e') by (left; apply alpha_above_1; lra).
rewrite (worst_unique _ _ _ _ _ A1 S1 ltac:(lia) W1), (worst_unique _ _ _ _ _ A1 S2 ltac:(lia) W2),
  (worst_unique _ _ _ _ _ A2 S3 ltac:(lia) W3), (worst_unique _ _ _ _ _ A2 S4 ltac:(lia) W4).
unfold greatest. rewrite Nat.mul_0_r, Nat.add_0_l, Nat.add_0_r, mult_INR. simpl (INR 0). simpl (INR 2).
assert (0 < INR P) by (apply lt_0_INR, HP).
assert (ratio : forall A, 1 <= A -> (2 * INR P * A ^ 2 + 0 * worst_pair A) / (2 * INR P) ^ 2
  / ((0 * A ^ 2 + INR P * worst_pair A) / (2 * INR P) ^ 2) = 2 * (A ^ 2 / worst_pair A)).
{ intros A HA. generalize (worst_pair_at_least A HA). intros V. field. split; lra. }
rewrite !ratio by assumption. apply Rmult_le_compat_l. lra. generalize (alpha_falls e e' H). intros F.
set (A := alpha e) in *. set (B := alpha e') in *.
generalize (worst_pair_at_least A A1) (worst_pair_at_least B A2). intros V V'.
apply (Rmult_le_reg_r (worst_pair A * worst_pair B)). apply Rmult_lt_0_compat; lra.
replace (B ^ 2 / worst_pair B * _) with (B ^ 2 * worst_pair A) by (field; lra).
replace (A ^ 2 / worst_pair A * _) with (A ^ 2 * worst_pair B) by (field; lra).
unfold worst_pair. destruct (Rle_dec A 2), (Rle_dec B 2); try lra.
- generalize (pow2_ge_0 (A - 2)) (pow2_ge_0 B). nra.
- assert (0 <= (A - B) * (A * B - A - B)) by (apply Rmult_le_pos; nra). nra.
Qed.

(* at epsilon = infinity alpha is 1 *)
Theorem CB_X5 orders orders' P e v v' : 10 <= e -> (0 < P)%nat -> pairing P 0 orders -> pairing P 0 orders' ->
  worst orders P 0 (alpha e) v -> worst orders' P 0 1 v' -> v <= 10002 / 10000 * v'.
Proof.
intros H HP S S' W W'. assert (A1 : 1 <= alpha e) by (left; apply alpha_above_1; lra).
rewrite (worst_unique _ _ _ _ _ A1 S ltac:(lia) W), (worst_unique _ _ _ _ _ (Rle_refl 1) S' ltac:(lia) W').
unfold greatest. unfold Rdiv at 1 3. rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
left. apply Rinv_0_lt_compat, pow_lt, lt_0_INR; lia. simpl (INR 0). generalize (pos_INR P). intros N.
assert (B : alpha e <= alpha 10) by (apply alpha_falls; lra).
assert (C : alpha 10 <= 100009 / 100000 + 1 / 1000000) by (unfold alpha; interval).
unfold worst_pair. destruct (Rle_dec (alpha e) 2); [|lra]. destruct (Rle_dec 1 2); [|lra].
assert (alpha e ^ 2 <= 10002 / 10000) by nra. nra.
Qed.

(* the variance of Laplace noise for a move by 2 is 8 / epsilon^2 *)
Theorem CB_X1_mse orders P e v : 0 < e <= 383 / 100 -> (0 < P)%nat -> pairing P 0 orders -> worst orders P 0 (alpha e) v ->
  v <= 8 / (INR (2 * P) * e ^ 2).
Proof.
intros H HP S W. assert (A1 : 1 <= alpha e) by (left; apply alpha_above_1; lra).
rewrite (worst_unique _ _ _ _ _ A1 S ltac:(lia) W). unfold greatest. rewrite Nat.add_0_r, mult_INR. simpl (INR 0). simpl (INR 2).
assert (0 < INR P) by (apply lt_0_INR, HP).
assert (K : worst_pair (alpha e) * e ^ 2 <= 16).
{ assert (E1 : 1 < exp e) by (rewrite <- exp_0; apply exp_increasing; lra).
  unfold worst_pair. destruct (Rle_dec (alpha e) 2) as [L|L].
  - assert (1 <= e).
    { apply Rnot_lt_le. intros T. assert (alpha 1 <= alpha e) by (apply alpha_falls; lra).
      assert (2 < alpha 1) by (unfold alpha; interval). lra. }
    assert (T : alpha e * e <= 4) by (unfold alpha; interval with (i_bisect e, i_autodiff e, i_depth 30)).
    replace (alpha e ^ 2 * e ^ 2) with ((alpha e * e) ^ 2) by ring. assert (0 <= alpha e * e) by nra. nra.
  - assert (B : (alpha e - 1) * e <= 2).
    { unfold alpha. replace (((exp e + 1) / (exp e - 1) - 1) * e) with (2 * (e / (exp e - 1))) by (field; lra).
      generalize (exp_ineq1_le e). intros T. assert (e / (exp e - 1) <= 1); [|lra].
      apply (Rmult_le_reg_r (exp e - 1)). lra. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (e <= 2). { apply Rnot_lt_le. intros T. apply L. apply Rle_trans with (alpha 2). apply alpha_falls; lra.
    unfold alpha. interval. }
    nra. }
apply (Rmult_le_reg_r (4 * INR P * e ^ 2)). apply Rmult_lt_0_compat; [lra | apply pow_lt; lra].
replace (_ / _ * (4 * INR P * e ^ 2)) with (worst_pair (alpha e) * e ^ 2) by (field; lra).
replace (8 / _ * _) with 16 by (field; lra). exact K.
Qed.

(* two clients with five shared bits *)
Theorem CB_X2 orders i f k g e x y v : 1 <= e -> -1 <= x <= 1 -> -1 <= y <= 1 -> levels (2 ^ 5) i f k g (alpha e) x y ->
  pairing 1 0 orders -> worst orders 1 0 (alpha e) v -> pair_error (2 ^ 5) i f k g (alpha e) (x + y) / 2 ^ 2 <= 107 / 100 * v.
Proof.
intros H HX HY L S W. assert (A1 : 1 <= alpha e) by (left; apply alpha_above_1; lra).
rewrite (worst_unique _ _ _ _ _ A1 S ltac:(lia) W).
generalize (CB_T1_star_bits 5 i f k g (alpha e) x y A1 HX HY L). rewrite limit_error_is by assumption. intros B.
generalize (worst_pair_above (alpha e) (x + y) A1 ltac:(lra)). unfold pair_variance. intros V.
assert (C : alpha e <= 2164 / 1000). { apply Rle_trans with (alpha 1). apply alpha_falls; lra. unfold alpha. interval. }
assert (D : alpha e ^ 2 / (2 ^ 5 / 2) <= 7 / 100 * worst_pair (alpha e)).
{ unfold worst_pair. destruct (Rle_dec (alpha e) 2) as [K|K]; nra. }
unfold greatest. replace (INR (2 * 1 + 0)) with 2 by (simpl; ring). simpl (INR 0). simpl (INR 1). lra.
Qed.

(* Sums of n signs and of n - 1, both of outputs c + A or c - A, and both divided by n: (A - |c|) / n is the least distance. *)
Definition mean_of (n m : nat) (A c : R) (sign : nat -> bool) : R :=
  total m (fun i => c + if sign i then A else - A) / INR n.

Lemma sum_of_signs m A c (sign : nat -> bool) : exists minus,
  total m (fun i => c + if sign i then A else - A) = INR m * c + (INR m - 2 * INR minus) * A.
Proof.
induction m as [|m (minus & IH)]; [exists 0%nat; simpl; ring|]. cbn [total]. rewrite S_INR. destruct (sign m).
- exists minus. rewrite IH. ring.
- exists (S minus). rewrite IH, S_INR. ring.
Qed.

Theorem CB_E1 n A c : (2 <= n)%nat -> Rabs c <= 1 <= A ->
  (forall sign sign', (A - Rabs c) / INR n <= Rabs (mean_of n n A c sign - mean_of n (n - 1) A c sign'))
  /\ exists sign sign', Rabs (mean_of n n A c sign - mean_of n (n - 1) A c sign') = (A - Rabs c) / INR n.
Proof.
intros H (C & HA). assert (N : 0 < INR n) by (apply lt_0_INR; lia).
assert (M : INR (n - 1) = INR n - 1) by (rewrite minus_INR by lia; reflexivity). split.
- intros sign sign'. unfold mean_of. destruct (sum_of_signs n A c sign) as (a & ->).
  destruct (sum_of_signs (n - 1) A c sign') as (b & ->).
  rewrite M. replace (_ / INR n - _ / INR n) with ((c + (1 + 2 * (INR b - INR a)) * A) / INR n) by (field; lra).
  unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ INR n)) by (left; apply Rinv_0_lt_compat, N).
  apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat, N.
  assert (K : 1 <= Rabs (1 + 2 * (INR b - INR a))).
  { destruct (le_lt_dec a b) as [L|L].
    - apply le_INR in L. rewrite Rabs_pos_eq; lra.
    - assert (INR b + 1 <= INR a) by (rewrite <- S_INR; apply le_INR; lia). rewrite Rabs_left1; lra. }
  generalize (Rabs_triang_inv ((1 + 2 * (INR b - INR a)) * A) (- c)). rewrite Rabs_mult, Rabs_Ropp, (Rabs_pos_eq A) by lra.
  replace ((1 + 2 * (INR b - INR a)) * A - - c) with (c + (1 + 2 * (INR b - INR a)) * A) by ring. nra.
- set (alike := fun _ : nat => true).
  assert (T : forall m, total m (fun i => c + if alike i then A else - A) = INR m * (c + A)) by (intros;
    exact (total_const m (c + A))).
  assert (T' : total n (fun i => c + if (i =? n - 1)%nat then - A else A) = INR (n - 1) * (c + A) + (c - A)).
  { replace n with (S (n - 1)) at 1 by lia. cbn [total]. rewrite Nat.eqb_refl, <- total_const. f_equal.
    apply total_ext. intros i Hi. replace (i =? n - 1)%nat with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity. }
  destruct (Rle_lt_dec 0 c) as [L|L].
  + exists (fun i => negb (i =? n - 1)%nat), alike. unfold mean_of. rewrite T.
    rewrite (total_ext n _ (fun i => c + if (i =? n - 1)%nat then - A else A)) by (intros; destruct (_ =? _)%nat; reflexivity).
    rewrite T'. replace (_ / INR n - _ / INR n) with (- ((A - c) / INR n)) by (field; lra).
    rewrite Rabs_Ropp, (Rabs_pos_eq c) in * by assumption. apply Rabs_pos_eq. apply Rdiv_le_0_compat; lra.
  + exists alike, alike. unfold mean_of. rewrite !T, M. replace (_ / INR n - _ / INR n) with ((A - - c) / INR n) by (field; lra).
    rewrite (Rabs_left c) in * by assumption. apply Rabs_pos_eq. apply Rdiv_le_0_compat; lra.
Qed.

(* Each client drops out with probability p, independently; whose partner is gone quantizes alone. *)
Definition stays (p : R) : law bool := [(1 - p, true); (p, false)].
Lemma stays_is p F : E (stays p) F = (1 - p) * F true + p * F false.
Proof. simpl. ring. Qed.

Definition present (alive : nat -> bool) (w : nat -> R) (i : nat) : R := if alive i then w i else 0.
Definition left_pair_law (A x y : R) (a b : bool) : (R -> R) -> R :=
  match a, b with
  | true, true => pair_law A x y
  | true, false => single_law A x
  | false, true => single_law A y
  | false, false => fun h => h 0
  end.
Definition left_single_law (A x : R) (a : bool) : (R -> R) -> R := if a then single_law A x else fun h => h 0.
Definition number (n : nat) (alive : nat -> bool) : R := total n (present alive (fun _ => 1)).

(* the squared error of the mean of those who are left, 0 if there is none; m groups with these laws *)
Definition left_error (n m : nat) (group : (nat -> bool) -> nat -> (R -> R) -> R) (w : nat -> R) (alive : nat -> bool) : R :=
  if Req_EM_T (number n alive) 0 then 0
  else each 0 (group alive) m (fun Q => (total m Q / number n alive - total n (present alive w) / number n alive) ^ 2).

Definition over_dropout (p : R) (n : nat) : ((nat -> bool) -> R) -> R := each true (fun _ => E (stays p)) n.

Definition corbin_error (p A : R) (P : nat) (w : nat -> R) : R := over_dropout p (2 * P) (left_error (2 * P) P (fun alive j =>
  left_pair_law A (w (2 * j)%nat) (w (2 * j + 1)%nat) (alive (2 * j)%nat) (alive (2 * j + 1)%nat)) w).
Definition ldp_error (p A : R) (n : nat) (w : nat -> R) : R :=
  over_dropout p n (left_error n n (fun alive j => left_single_law A (w j) (alive j)) w).

Lemma over_dropout_at_most p n h h' : 0 <= p <= 1 -> (forall alive, h alive <= h' alive) ->
  over_dropout p n h <= over_dropout p n h'.
Proof.
intros P. unfold over_dropout. revert h h'. induction n as [|n IH]; intros h h' H; cbn [each]. apply H.
assert (T : forall x, each true (fun _ => E (stays p)) n (fun u => h (set u n x))
  <= each true (fun _ => E (stays p)) n (fun u => h' (set u n x)))
  by (intros; apply IH; intros; apply H).
rewrite !stays_is. apply Rplus_le_compat; apply Rmult_le_compat_l; [lra | apply T | lra | apply T].
Qed.

Lemma over_dropout_times p n c h : over_dropout p n (fun alive => c * h alive) = c * over_dropout p n h.
Proof.
unfold over_dropout. revert h. induction n as [|n IH]; intros h; cbn [each]. reflexivity.
assert (T : forall x, each true (fun _ => E (stays p)) n (fun u => c * h (set u n x)) = c * each true
  (fun _ => E (stays p)) n (fun u => h (set u n x)))
  by (intros; apply (IH (fun u => h (set u n x)))).
rewrite !stays_is, (T true), (T false). ring.
Qed.

Lemma number_positive n alive : 0 <= number n alive.
Proof. apply total_positive. intros i _. unfold present. destruct (alive i); lra. Qed.

Lemma left_error_is n m group w alive variance : 0 < number n alive ->
  (exists mean, (forall j, (j < m)%nat -> moments (mean j) (variance j) (group alive j))
    /\ total m mean = total n (present alive w)) ->
  left_error n m group w alive = total m variance / number n alive ^ 2.
Proof.
intros N (mean & M & T). unfold left_error. destruct (Req_EM_T (number n alive) 0) as [Z|_]; [lra|].
set (k := number n alive) in *.
transitivity (each 0 (group alive) m (fun Q => 0 + total 1 (fun s => (- (total n (present alive w) / k) + total m
  (fun j => / k * Q j)) ^ 2)
  + total m (fun j => 0 * Q j ^ 2))).
- apply each_ext. intros Q. rewrite !total_times. cbn [total]. unfold Rdiv. ring.
- rewrite (mean_squares _ mean variance) by exact M. cbn [total]. rewrite total_times, T.
  rewrite (total_ext m _ (fun j => / k ^ 2 * variance j)) by (intros; field; lra). rewrite total_times. field. lra.
Qed.

Lemma left_single_moments A x (a : bool) : 1 <= A ->
  moments (if a then x else 0) (if a then single_variance A x else 0) (left_single_law A x a).
Proof. intros HA. destruct a; [apply single_law_moments, HA|]. intros a b c. unfold left_single_law. ring. Qed.

Theorem CB_X3 p A P : 1 <= A -> 0 <= p <= 1 -> let most := A ^ 2 * over_dropout p (2 * P) (fun alive =>
    if Req_EM_T (number (2 * P) alive) 0 then 0 else / number (2 * P) alive) in
  (forall w, bounded w -> corbin_error p A P w <= most)
  /\ is_lub (fun e => exists w, bounded w /\ e = ldp_error p A (2 * P) w) most.
Proof.
intros HA Hp most.
assert (C : forall m (group : (nat -> bool) -> nat -> (R -> R) -> R) (w : nat -> R) (variance : (nat -> bool) -> nat -> R),
  (forall alive, exists mean, (forall j, (j < m)%nat ->
    moments (mean j) (variance alive j) (group alive j)) /\ total m mean = total (2 * P) (present alive w)) ->
  (forall alive, total m (variance alive) <= number (2 * P) alive * A ^ 2) ->
  over_dropout p (2 * P) (left_error (2 * P) m group w) <= most).
{ intros m group w variance M B. unfold most. rewrite <- over_dropout_times. apply over_dropout_at_most. exact Hp. intros alive.
  destruct (Req_EM_T (number (2 * P) alive) 0) as [Z|Z].
  - unfold left_error. destruct (Req_EM_T (number (2 * P) alive) 0); lra.
  - assert (N : 0 < number (2 * P) alive) by (generalize (number_positive (2 * P) alive); lra).
    rewrite (left_error_is _ _ _ _ _ (variance alive) N (M alive)). apply (Rmult_le_reg_r (number (2 * P) alive ^ 2)).
    apply pow_lt, N.
    replace (_ / _ * _) with (total m (variance alive)) by (field; exact Z).
    replace (A ^ 2 * / _ * _) with (number (2 * P) alive * A ^ 2) by (field; exact Z). apply B. }
split; [|split].
- intros w B. apply (C P _ w (fun alive j => match alive (2 * j)%nat, alive (2 * j + 1)%nat with
    | true, true => pair_variance A (w (2 * j)%nat + w (2 * j + 1)%nat)
    | true, false => single_variance A (w (2 * j)%nat)
    | false, true => single_variance A (w (2 * j + 1)%nat)
    | false, false => 0 end)).
  + intros alive. exists (fun j => present alive w (2 * j)%nat + present alive w (2 * j + 1)%nat). split.
    * intros j _. unfold present, left_pair_law. destruct (alive (2 * j)%nat), (alive (2 * j + 1)%nat).
      -- apply pair_law_moments; auto.
      -- rewrite Rplus_0_r. apply single_law_moments, HA.
      -- rewrite Rplus_0_l. apply single_law_moments, HA.
      -- intros a b c. ring.
    * symmetry. apply total_pairs.
  + intros alive. unfold number. rewrite total_pairs, Rmult_comm, <- total_times. apply total_le. intros j _. unfold present.
    generalize (worst_pair_above A (w (2 * j)%nat + w (2 * j + 1)%nat) HA ltac:(generalize (B (2 * j)%nat) (B (2 * j
      + 1)%nat); lra)) (worst_pair_at_most A HA).
    unfold single_variance. generalize (pow2_ge_0 A) (pow2_ge_0 (w (2 * j)%nat)) (pow2_ge_0 (w (2 * j + 1)%nat)).
    destruct (alive (2 * j)%nat), (alive (2 * j + 1)%nat); lra.
- intros e (w & B & ->). apply (C (2 * P)%nat _ w (fun alive j => if alive j then single_variance A (w j) else 0)).
  + intros alive. exists (present alive w). split; [|reflexivity]. intros j _. apply left_single_moments, HA.
  + intros alive. unfold number. rewrite Rmult_comm, <- total_times. apply total_le. intros j _. unfold present, single_variance.
    generalize (pow2_ge_0 (w j)). destruct (alive j); lra.
- intros b B. apply B. exists (fun _ => 0). split; [intros i; lra|]. unfold ldp_error, most. rewrite <- over_dropout_times.
  f_equal.
  apply functional_extensionality. intros alive. symmetry.
  destruct (Req_EM_T (number (2 * P) alive) 0) as [Z|Z].
  + unfold left_error. destruct (Req_EM_T (number (2 * P) alive) 0); lra.
  + assert (N : 0 < number (2 * P) alive) by (generalize (number_positive (2 * P) alive); lra).
    rewrite (left_error_is _ _ _ _ _ (fun j => if alive j then single_variance A 0 else 0) N).
    * rewrite (total_ext (2 * P) _ (fun j => A ^ 2 * present alive (fun _ => 1) j)).
      2: { intros j _. unfold present, single_variance. destruct (alive j); ring. }
      rewrite total_times. fold (number (2 * P) alive). field. exact Z.
    * exists (present alive (fun _ => 0)). split; [|reflexivity]. intros j _. apply left_single_moments, HA.
Qed.

(* Gaussian noise of the greatest variance of CorBin-FL, n times its mean squared error, against a move by 2 *)
Theorem CB_X1_gauss orders P e v d : 1 / 20 <= e <= 77 / 5 -> (0 < P)%nat -> pairing P 0 orders -> worst orders P 0 (alpha e) v ->
  let s := sqrt (INR (2 * P) * v) in below (normal 2 s) (normal 0 s) e d -> 1 / 100000 <= d.
Proof.
intros H HP S W s. assert (A1 : 1 < alpha e) by (apply alpha_above_1; lra).
assert (V : INR (2 * P) * v = worst_pair (alpha e) / 2).
{ rewrite (worst_unique _ _ _ _ _ (Rlt_le _ _ A1) S ltac:(lia) W). unfold greatest. rewrite Nat.add_0_r, mult_INR.
  simpl (INR 0). simpl (INR 2).
  assert (0 < INR P) by (apply lt_0_INR, HP). field. lra. }
destruct (pair_against_gauss e H) as (T0 & K0 & D). cbv zeta in D, K0. set (T := 1 - 2 / (1 + exp e)) in *.
set (k := sqrt (1 / 2 + _)) in *.
assert (E1 : 1 < exp e) by (rewrite <- exp_0; apply exp_increasing; lra).
assert (I : T = / alpha e) by (unfold T, alpha; field; lra).
assert (Q : s = k * alpha e).
{ unfold s. rewrite V. replace (worst_pair (alpha e) / 2) with (k * alpha e * (k * alpha e)). apply sqrt_square. nra.
  replace (k * alpha e * (k * alpha e)) with (k * k * alpha e ^ 2) by ring. unfold k. rewrite sqrt_sqrt.
  - rewrite I. unfold worst_pair. destruct (Rle_dec (alpha e) 2) as [L|L].
    + assert (1 / 2 <= / alpha e) by (replace (1 / 2) with (/ 2) by field; apply Rinv_le_contravar; lra).
      rewrite Rmax_left by lra. field.
    + assert (/ alpha e <= 1 / 2) by (replace (1 / 2) with (/ 2) by field; apply Rinv_le_contravar; lra).
      rewrite Rmax_right by lra. field. lra.
  - apply Rnot_lt_le. intros N. unfold k in K0. rewrite sqrt_neg_0 in K0 by lra. lra. }
clearbody s. assert (0 < s) by (rewrite Q; apply Rmult_lt_0_compat; lra). intros B.
destruct (normals 0 2 s e d ltac:(assumption) ltac:(lra)) as (N & _).
rewrite Rplus_0_l in N. apply N in B. apply Rle_trans with (2 := B).
replace (2 / s) with (2 * T / k). exact D. rewrite I, Q. field. lra.
Qed.

(* Two clients with the outputs l < h. q w is the probability of h for the update w: unbiased and private. c w w' is the
   probability that both send h: any joint law of the outputs. *)
Section Alphabet.
Variables (epsilon l h : R) (q : R -> R) (c : R -> R -> R).
Hypotheses (epsilon_positive : 0 < epsilon) (ordered : l < h).
Hypothesis unbiased : forall w, -1 <= w <= 1 -> q w * h + (1 - q w) * l = w.
Hypothesis private : forall w w', -1 <= w <= 1 -> -1 <= w' <= 1 ->
  q w <= exp epsilon * q w' /\ 1 - q w <= exp epsilon * (1 - q w').
Hypothesis joint : forall w w', -1 <= w <= 1 -> -1 <= w' <= 1 ->
  0 <= c w w' /\ 0 <= q w - c w w' /\ 0 <= q w' - c w w' /\ 0 <= 1 - q w - q w' + c w w'.

Definition joint_error (w w' : R) : R :=
  c w w' * (h + h - (w + w')) ^ 2 + (q w - c w w') * (h + l - (w + w')) ^ 2 + (q w' - c w w') * (l + h - (w + w')) ^ 2
  + (1 - q w - q w' + c w w') * (l + l - (w + w')) ^ 2.

Lemma far_apart : l <= - alpha epsilon /\ alpha epsilon <= h.
Proof.
assert (E1 : 1 < exp epsilon) by (rewrite <- exp_0; apply exp_increasing; lra).
destruct (private 1 (-1) ltac:(lra) ltac:(lra)) as (P & _). destruct (private (-1) 1 ltac:(lra) ltac:(lra)) as (_ & P').
generalize (unbiased 1 ltac:(lra)) (unbiased (-1) ltac:(lra)). intros U V.
assert (Q1 : q 1 * (h - l) = 1 - l) by lra. assert (Q2 : q (-1) * (h - l) = -1 - l) by lra.
assert (A : alpha epsilon * (exp epsilon - 1) = exp epsilon + 1) by (unfold alpha; field; lra).
apply (Rmult_le_compat_r (h - l)) in P; [|lra]. apply (Rmult_le_compat_r (h - l)) in P'; [|lra].
rewrite Rmult_assoc, Q1, Q2 in P. rewrite Rmult_assoc in P'.
replace ((1 - q (-1)) * (h - l)) with (h + 1) in P' by lra. replace ((1 - q 1) * (h - l)) with (h - 1) in P' by lra.
split; apply (Rmult_le_reg_r (exp epsilon - 1)); lra.
Qed.

Lemma joint_error_at_least w w' : -1 <= w <= 1 -> -1 <= w' <= 1 -> let s := w + w' in
  (s - 2 * l) * (l + h - s) <= joint_error w w' /\ (2 * h - s) * (s - l - h) <= joint_error w w'.
Proof.
intros W W' s. destruct (joint w w' W W') as (C & _ & _ & C').
assert (Q : q w = (w - l) / (h - l)) by (apply (Rmult_eq_reg_r (h - l)); [generalize (unbiased w W); intros; field_simplify;
  lra | lra]).
assert (Q' : q w' = (w' - l) / (h - l)) by (apply (Rmult_eq_reg_r (h - l)); [generalize (unbiased w' W'); intros;
  field_simplify; lra | lra]).
assert (0 <= (h - l) ^ 2) by apply pow2_ge_0. unfold joint_error. fold s. split.
- apply Rminus_le. apply Rle_trans with (- (2 * c w w' * (h - l) ^ 2)); [|nra]. right. rewrite Q, Q'. unfold s. field. lra.
- apply Rminus_le. apply Rle_trans with (- (2 * (1 - q w - q w' + c w w') * (h - l) ^ 2)); [|nra]. right. rewrite Q, Q'.
  unfold s. field. lra.
Qed.

Theorem CB_T1_star_minimax : exists w w', -1 <= w <= 1 /\ -1 <= w' <= 1 /\ worst_pair (alpha epsilon) <= joint_error w w'.
Proof.
destruct far_apart as (L & H). generalize (alpha_above_1 epsilon epsilon_positive). set (A := alpha epsilon) in *. intros A1.
set (t := if Rle_dec A 2 then A else 2).
assert (T : 0 < t <= 2 /\ t <= A /\ worst_pair A = (2 * A - t) * t).
{ unfold t, worst_pair. destruct (Rle_dec A 2); repeat split; try lra; ring. }
destruct T as (T1 & T2 & ->). destruct (Rle_lt_dec 0 (l + h)) as [S|S].
- exists (- t / 2), (- t / 2). split; [lra | split; [lra|]].
  destruct (joint_error_at_least (- t / 2) (- t / 2) ltac:(lra) ltac:(lra)) as (B & _).
  apply Rle_trans with (2 := B). replace (- t / 2 + - t / 2) with (- t) by field. apply Rmult_le_compat; lra.
- exists (t / 2), (t / 2). split; [lra | split; [lra|]].
  destruct (joint_error_at_least (t / 2) (t / 2) ltac:(lra) ltac:(lra)) as (_ & B).
  apply Rle_trans with (2 := B). replace (t / 2 + t / 2) with t by field. apply Rmult_le_compat; lra.
Qed.

(* the mean of |u + y| over y is at least a tangent of its graph in u *)
Lemma mean_distance u x : -1 <= x <= 1 -> 2 * x * u + 1 - x ^ 2 <= RInt (fun y => Rabs (u + y)) (-1) 1.
Proof.
intros X.
assert (I : forall a b, ex_RInt (fun y => Rabs (u + y)) a b).
{ intros a b. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros y _.
  apply (continuous_comp (fun y => u + y) Rabs). apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)).
  auto_derive; trivial.
  apply continuous_Rabs. }
assert (J : forall a b s, is_RInt (fun y => s * (u + y)) a b (s * (u * b + b ^ 2 / 2 - (u * a + a ^ 2 / 2)))).
{ intros a b s. replace (s * (u * b + b ^ 2 / 2 - (u * a + a ^ 2 / 2)))
    with (minus (s * (u * b + b ^ 2 / 2)) (s * (u * a + a ^ 2 / 2))) by (unfold minus, Hierarchy.plus, opp; simpl; ring).
  apply (is_RInt_derive (V := R_CompleteNormedModule) (fun y => s * (u * y + y ^ 2 / 2))).
  - intros y _. auto_derive; [trivial | field].
  - intros y _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive; trivial. }
rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) _ (-1) (- x) 1) by apply I.
apply Rle_trans with (RInt (fun y => -1 * (u + y)) (-1) (- x) + RInt (fun y => 1 * (u + y)) (- x) 1).
- rewrite (is_RInt_unique _ _ _ _ (J (-1) (- x) (-1))), (is_RInt_unique _ _ _ _ (J (- x) 1 1)). right. field.
- unfold Hierarchy.plus; simpl. apply Rplus_le_compat; apply RInt_le; try lra; try apply I; try (eexists; apply J);
    intros y _; unfold Rabs; destruct Rcase_abs; lra.
Qed.

Theorem CB_T1_star_average :
  (forall x, -1 <= x <= 1 -> ex_RInt (fun y => joint_error x y) (-1) 1) ->
  ex_RInt (fun x => RInt (fun y => joint_error x y) (-1) 1 / 2) (-1) 1 ->
  (4 * alpha epsilon - 2) / 3 <= RInt (fun x => RInt (fun y => joint_error x y) (-1) 1 / 2) (-1) 1 / 2.
Proof.
intros I1 I2. destruct far_apart as (L & H). generalize (alpha_above_1 epsilon epsilon_positive).
set (A := alpha epsilon) in *. intros A1.
set (v := (l + h) / 2). set (B := (h - l) / 2).
assert (HB : A + Rabs v <= B) by (unfold v, B; unfold Rabs; destruct Rcase_abs; lra).
(* a lower bound of the mean over y, a polynomial in x *)
set (G := fun x => A * (1 + x ^ 2 - 4 * v * x) + 2 * v * (2 * v - x) - ((x - 2 * v) ^ 2 + 1 / 3)).
assert (inner : forall x, -1 <= x <= 1 -> G x <= RInt (fun y => joint_error x y) (-1) 1 / 2).
{ intros x X. set (u := x - 2 * v).
  assert (sq : is_RInt (fun y => (u + y) ^ 2) (-1) 1 (2 * u ^ 2 + 2 / 3)).
  { replace (2 * u ^ 2 + 2 / 3) with (minus ((u + 1) ^ 3 / 3) ((u + -1) ^ 3 / 3)) by (unfold minus, Hierarchy.plus, opp;
      simpl; field).
    apply (is_RInt_derive (V := R_CompleteNormedModule) (fun y => (u + y) ^ 3 / 3)).
    - intros y _. auto_derive; [trivial | field].
    - intros y _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive; trivial. }
  assert (ab : ex_RInt (fun y => Rabs (u + y)) (-1) 1).
  { apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros y _. apply (continuous_comp (fun y => u + y) Rabs).
    apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive; trivial. apply continuous_Rabs. }
  assert (lower : RInt (fun y => 2 * B * Rabs (u + y) - (u + y) ^ 2) (-1) 1 <= RInt (fun y => joint_error x y) (-1) 1).
  { apply RInt_le; [lra | | apply I1, X |].
    - apply (ex_RInt_minus (V := R_NormedModule) (fun y => 2 * B * Rabs (u + y)) (fun y => (u + y) ^ 2)).
      apply (ex_RInt_scal (V := R_NormedModule) (fun y => Rabs (u + y)) (-1) 1 (2 * B)), ab. eexists; exact sq.
    - intros y Y. destruct (joint_error_at_least x y X ltac:(lra)) as (P & P'). unfold Rabs. destruct Rcase_abs as [S|S].
      + apply Rle_trans with (2 := P). right. unfold u, v, B. field.
      + apply Rle_trans with (2 := P'). right. unfold u, v, B. field. }
  rewrite difference, scaled in lower; [| exact ab
    | apply (ex_RInt_scal (V := R_NormedModule) (fun y => Rabs (u + y)) (-1) 1 (2 * B)), ab | eexists; exact sq].
  rewrite (is_RInt_unique _ _ _ _ sq) in lower. set (m := RInt (fun y => Rabs (u + y)) (-1) 1) in *.
  generalize (mean_distance u x X) (mean_distance u 1 ltac:(lra)) (mean_distance u (-1) ltac:(lra)). fold m. intros M1 M2 M3.
  assert (K : 2 * v * (2 * v - x) <= Rabs v * m) by (unfold u in *; unfold Rabs; destruct Rcase_abs; nra).
  assert (K' : A * (1 + x ^ 2 - 4 * v * x) <= A * m) by (apply Rmult_le_compat_l; unfold u in *; lra).
  assert (M0 : 0 <= m) by lra. assert ((A + Rabs v) * m <= B * m) by (apply Rmult_le_compat_r; lra).
  unfold G. fold u. lra. }
assert (J : is_RInt G (-1) 1 (2 * ((4 * A - 2) / 3))).
{ set (P := fun x => A * (x + x ^ 3 / 3 - 2 * v * x ^ 2) + 2 * v * (2 * v * x - x ^ 2 / 2) - ((x - 2 * v) ^ 3 / 3 + x / 3)).
  replace (2 * ((4 * A - 2) / 3)) with (minus (P 1) (P (-1))) by (unfold P, minus, Hierarchy.plus, opp; simpl; field).
  apply (is_RInt_derive (V := R_CompleteNormedModule) P).
  - intros x _. unfold P, G. auto_derive; [trivial | field].
  - intros x _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold G. auto_derive; trivial. }
assert (RInt G (-1) 1 <= RInt (fun x => RInt (fun y => joint_error x y) (-1) 1 / 2) (-1) 1).
{ apply RInt_le; [lra | eexists; exact J | exact I2 | intros x X; apply inner; lra]. }
rewrite (is_RInt_unique _ _ _ _ J) in H0. lra.
Qed.
End Alphabet.

(* Rows on one pair with infinitely many shared bits. *)
Theorem CB_T1_star_limit A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 ->
  limit_error A x y = 2 * A * Rabs (x + y) - (x + y) ^ 2.
Proof. apply limit_error_is. Qed.

(* both minus, the second plus, the first plus, both plus *)
Theorem CB_E21 A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> x + y <= 0 ->
  limit_mean A x y (cell false false) = (- x - y) / (2 * A) /\ limit_mean A x y (cell false true) = 1 / 2 + y / (2 * A)
  /\ limit_mean A x y (cell true false) = 1 / 2 + x / (2 * A) /\ limit_mean A x y (cell true true) = 0.
Proof.
intros HA HX HY S. rewrite !limit_mean_is by (try apply chance_between; lra).
rewrite Rmax_left. 2: { unfold Rdiv. assert (0 < / (2 * A)) by (apply Rinv_0_lt_compat; lra). nra. }
unfold cell, chance. repeat split; field; lra.
Qed.

Lemma worst_pair_form A : 1 <= A -> A ^ 2 * (1 - Rmax (1 - 2 / A) 0 ^ 2) = worst_pair A.
Proof.
intros HA. unfold worst_pair. destruct (Rle_dec A 2) as [L|L].
- rewrite Rmax_right. ring. assert (1 <= 2 / A); [|lra]. apply (Rmult_le_reg_r A). lra. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l; lra.
- rewrite Rmax_left. field. lra. assert (2 / A <= 1); [|lra]. apply (Rmult_le_reg_r A). lra. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Theorem CB_T2_star_pair A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 ->
  limit_error A x y <= A ^ 2 * (1 - Rmax (1 - 2 / A) 0 ^ 2).
Proof. intros HA HX HY. rewrite worst_pair_form, limit_error_is by assumption. apply worst_pair_above; lra. Qed.

(* the covariance of both outputs *)
Theorem CB_T2_cov A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 ->
  limit_mean A x y (fun u v => (A * (2 * u - 1) - x) * (A * (2 * v - 1) - y)) <= - (A - 1) ^ 2.
Proof.
intros HA HX HY. rewrite limit_mean_is by (try apply chance_between; lra).
set (s := x + y). assert (S : chance A x + chance A y - 1 = s / (2 * A)) by (unfold chance, s; field; lra).
set (b := Rmax 0 (s / (2 * A))).
assert (C : b * ((A * (2 * 1 - 1) - x) * (A * (2 * 1 - 1) - y))
  + (chance A x - b) * ((A * (2 * 1 - 1) - x) * (A * (2 * 0 - 1) - y))
  + (chance A y - b) * ((A * (2 * 0 - 1) - x) * (A * (2 * 1 - 1) - y))
  + (1 - chance A x - chance A y + b) * ((A * (2 * 0 - 1) - x) * (A * (2 * 0 - 1) - y)) = 4 * A ^ 2 * b - A ^ 2 - A * s - x * y)
  by (unfold chance, s; field; lra).
rewrite C.
assert (B : 4 * A ^ 2 * b = 2 * A * Rmax 0 s).
{ unfold b. destruct (Rle_lt_dec 0 s) as [L|L].
  - rewrite !Rmax_right by (try apply Rdiv_le_0_compat; lra). field. lra.
  - rewrite !Rmax_left. ring. lra. unfold Rdiv. assert (0 < / (2 * A)) by (apply Rinv_0_lt_compat; lra). nra. }
rewrite B. assert (0 <= (1 - x) * (1 - y)) by (apply Rmult_le_pos; lra).
assert (0 <= (1 + x) * (1 + y)) by (apply Rmult_le_pos; lra).
assert (0 <= (A - 1) * (2 - s)) by (apply Rmult_le_pos; unfold s; lra).
assert (0 <= (A - 1) * (2 + s)) by (apply Rmult_le_pos; unfold s; lra).
unfold s in *. apply Rmax_case_strong; intros L; nra.
Qed.

(* two clients that quantize alone have the error 2 A^2 - x^2 - y^2 *)
Theorem CB_X8 A x y : 1 <= A -> -1 <= x <= 1 -> -1 <= y <= 1 -> limit_error A x y <= 2 * A ^ 2 - x ^ 2 - y ^ 2.
Proof.
intros HA HX HY. rewrite limit_error_is by assumption.
assert (0 <= (1 - x) * (1 - y)) by (apply Rmult_le_pos; lra). assert (0 <= (1 + x) * (1 + y)) by (apply Rmult_le_pos; lra).
assert (0 <= (A - 1) * (2 - (x + y))) by (apply Rmult_le_pos; lra).
assert (0 <= (A - 1) * (2 + (x + y))) by (apply Rmult_le_pos; lra).
assert (0 <= A * (A - 1)) by (apply Rmult_le_pos; lra).
unfold Rabs. destruct Rcase_abs; nra.
Qed.

(* the printed bound, for an even number of clients, and for an odd number of at least three, of which one is alone *)
Theorem CB_T2 orders P A w : 1 <= A -> (0 < P)%nat -> is_law orders -> bounded w ->
  mean_error orders P 0 A w <= / (2 * INR (2 * P)) * (((sqrt 2 - 1) * A + 1) * ((sqrt 2 + 1) * A - 1)).
Proof.
intros HA H L W. apply Rle_trans with (1 := CB_T3m orders P 0 A w HA ltac:(lia) L W). cbv zeta.
rewrite Nat.add_0_r. simpl (INR 0). assert (0 < INR (2 * P)) by (apply lt_0_INR; lia). right. field. lra.
Qed.

Theorem CB_T2n orders P A w : 1 <= A -> (0 < P)%nat -> is_law orders -> bounded w ->
  mean_error orders P 1 A w <= / (2 * INR (2 * P + 1)) * (((sqrt 2 - 1) * A + 1) * ((sqrt 2 + 1) * A - 1)).
Proof.
intros HA H L W. apply Rle_trans with (1 := mean_error_at_most orders P 1 A w HA L ltac:(lia) W). unfold greatest.
assert (R2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra).
replace (((sqrt 2 - 1) * A + 1) * ((sqrt 2 + 1) * A - 1)) with ((sqrt 2 * sqrt 2 - 1) * A ^ 2 + 2 * A - 1) by ring. rewrite R2.
assert (K : INR (2 * P + 1) = 2 * INR P + 1) by (rewrite plus_INR, mult_INR; reflexivity). rewrite K. simpl (INR 1).
assert (H1 : 1 <= INR P) by (apply (le_INR 1); lia). set (N := INR P) in *.
apply (Rmult_le_reg_r (2 * (2 * N + 1) ^ 2)). apply Rmult_lt_0_compat; [lra | apply pow_lt; lra].
replace (_ / _ * _) with (2 * (1 * A ^ 2 + N * worst_pair A)) by (field; lra).
replace (/ _ * _ * _) with ((2 * N + 1) * ((2 - 1) * A ^ 2 + 2 * A - 1)) by (field; lra).
unfold worst_pair. destruct (Rle_dec A 2) as [D|D].
- assert (0 <= (N - 1) * (2 * A - 1)) by (apply Rmult_le_pos; lra).
  assert (0 <= (A - 1) * (5 - A)) by (apply Rmult_le_pos; lra). nra.
- assert (0 <= N * (A - 2)) by (apply Rmult_le_pos; lra).
  assert (0 <= (2 * N - 1) * (A * (A - 2))) by (repeat apply Rmult_le_pos; lra). nra.
Qed.

(* All ways to take one client out of a list. *)
Fixpoint picks (l : list R) : list (R * list R) :=
  match l with
  | [] => []
  | x :: rest => (x, rest) :: map (fun p => (fst p, x :: snd p)) (picks rest)
  end.

Fixpoint sum_over {B : Type} (f : B -> R) (l : list B) : R := match l with [] => 0 | b :: rest => f b + sum_over f rest end.

(* Uniform pairings of a list: its first client is paired with any of the others, and so on; h sees the clients pair by pair.
   Of an odd number one, chosen first, is alone, and comes last. *)
Fixpoint over_pairings (k : nat) (l : list R) (h : list R -> R) : R :=
  match k, l with
  | S k, x :: rest => sum_over (fun p => over_pairings k (snd p) (fun o => h (x :: fst p :: o))) (picks rest) / INR (length rest)
  | _, _ => h l
  end.
Definition over_odd_pairings (k : nat) (l : list R) (h : list R -> R) : R :=
  sum_over (fun p => over_pairings k (snd p) (fun o => h (o ++ [fst p]))) (picks l) / INR (length l).

(* the sum over all couples i < j *)
Fixpoint couples (f : R -> R) (l : list R) : R :=
  match l with [] => 0 | x :: rest => sum_over (fun y => f (x + y)) rest + couples f rest end.

Lemma sum_over_map {B C : Type} (f : C -> R) (g : B -> C) l : sum_over f (map g l) = sum_over (fun b => f (g b)) l.
Proof. induction l as [|b l IH]; simpl; [reflexivity | rewrite IH; reflexivity]. Qed.

Lemma sum_over_ext {B : Type} (f g : B -> R) l : (forall b, In b l -> f b = g b) -> sum_over f l = sum_over g l.
Proof.
induction l as [|b l IH]; intros H; simpl; [reflexivity|].
rewrite H, IH; [reflexivity | intros; apply H; right; assumption | left; reflexivity].
Qed.

Lemma sum_over_linear {B : Type} a b c (f g : B -> R) l :
  sum_over (fun x => a + b * f x + c * g x) l = INR (length l) * a + b * sum_over f l + c * sum_over g l.
Proof.
induction l as [|x l IH]; [simpl; ring|]. change (length (x :: l)) with (S (length l)). rewrite S_INR. simpl sum_over.
rewrite IH. ring.
Qed.

Lemma picks_length l : length (picks l) = length l.
Proof. induction l as [|x l IH]; simpl; [reflexivity | rewrite map_length, IH; reflexivity]. Qed.

Lemma picks_first f l : sum_over (fun p => f (fst p)) (picks l) = sum_over f l.
Proof. induction l as [|x l IH]; simpl; [reflexivity | rewrite sum_over_map; simpl; rewrite IH; reflexivity]. Qed.

Lemma picks_rest f l : sum_over (fun p => sum_over f (snd p)) (picks l) = (INR (length l) - 1) * sum_over f l.
Proof.
induction l as [|x l IH]; [simpl; ring|]. change (length (x :: l)) with (S (length l)). rewrite S_INR. simpl.
rewrite sum_over_map. simpl.
rewrite (sum_over_ext _ (fun p => f x + 1 * sum_over f (snd p) + 0 * 0)) by (intros; ring).
rewrite (sum_over_linear (f x) 1 0 (fun p : R * list R => sum_over f (snd p)) (fun _ => 0)), IH, picks_length. ring.
Qed.

Lemma picks_couples f l : sum_over (fun p => couples f (snd p)) (picks l) = (INR (length l) - 2) * couples f l.
Proof.
induction l as [|x l IH]; [simpl; ring|]. change (length (x :: l)) with (S (length l)). rewrite S_INR. simpl.
rewrite sum_over_map. simpl.
rewrite (sum_over_ext _ (fun p => 0 + 1 * sum_over (fun y => f (x + y)) (snd p) + 1 * couples f (snd p))) by (intros; ring).
rewrite (sum_over_linear 0 1 1 (fun p => sum_over (fun y => f (x + y)) (snd p)) (fun p => couples f (snd p))).
rewrite (picks_rest (fun y => f (x + y))), IH. ring.
Qed.

Lemma picks_in l p : In p (picks l) -> length l = S (length (snd p)) /\ forall Q : R -> Prop, List.Forall Q l ->
  Q (fst p) /\ List.Forall Q (snd p).
Proof.
revert p. induction l as [|x l IH]; intros p; [intros []|]. simpl. intros [<- | I].
- split; [reflexivity|]. intros Q F. inversion F; subst. split; assumption.
- apply in_map_iff in I. destruct I as (p' & <- & I). destruct (IH p' I) as (L & H). split; [simpl; rewrite L; reflexivity|].
  intros Q F. inversion F; subst. destruct (H Q H3) as (H4 & H5). split; [exact H4 | constructor; assumption].
Qed.

(* the errors of the pairs of a list, in its order *)
Fixpoint paired_errors (A : R) (k : nat) (o : list R) : R :=
  match k, o with
  | S k, x :: y :: rest => pair_variance A (x + y) + paired_errors A k rest
  | _, _ => 0
  end.

Lemma paired_errors_is A k o : length o = (2 * k)%nat ->
  paired_errors A k o = total k (fun j => pair_variance A (nth (2 * j) o 0 + nth (2 * j + 1) o 0)).
Proof.
revert o. induction k as [|k IH]; intros o L; [reflexivity|]. destruct o as [|x [|y o]]; try (simpl in L; lia).
cbn [paired_errors]. rewrite IH by (simpl in L; lia).
assert (shift : forall n f, total (S n) f = f 0%nat + total n (fun j => f (S j))).
{ clear. induction n as [|n IH]; intros f. simpl; ring. change (total (S (S n)) f) with (total (S n) f + f (S n)).
  rewrite IH. simpl. ring. }
rewrite shift. f_equal. apply total_ext. intros j _.
replace (2 * S j)%nat with (S (S (2 * j))) by lia. replace (S (S (2 * j)) + 1)%nat with (S (S (2 * j + 1))) by lia. reflexivity.
Qed.

Lemma over_pairings_ext k l h h' : length l = (2 * k)%nat -> List.Forall (fun x => -1 <= x <= 1) l ->
  (forall o, length o = length l -> List.Forall (fun x => -1 <= x <= 1) o -> h o = h' o) ->
    over_pairings k l h = over_pairings k l h'.
Proof.
revert l h h'. induction k as [|k IH]; intros l h h' L F H; [apply H; [reflexivity | exact F]|].
destruct l as [|x l]; [apply H; [reflexivity | exact F]|]. cbn [over_pairings]. f_equal. apply sum_over_ext. intros p I.
inversion F; subst. destruct (picks_in l p I) as (P & B). destruct (B _ H3) as (B1 & B2).
apply IH; [simpl in L; lia | exact B2|]. intros o O1 O2.
apply H; [simpl; simpl in P; lia | apply List.Forall_cons; [exact H2 | apply List.Forall_cons; [exact B1 | exact O2]]].
Qed.

Lemma mean_of_pairs A k l a c : length l = (2 * k)%nat ->
  over_pairings k l (fun o => a + c * paired_errors A k o) = a + c * (couples (pair_variance A) l / (INR (2 * k) - 1)).
Proof.
revert l a. induction k as [|k IH]; intros l a L.
- destruct l; [|discriminate L]. simpl. field.
- destruct l as [|x l]; [simpl in L; lia|]. cbn [over_pairings paired_errors].
  assert (LL : length l = (2 * k + 1)%nat) by (simpl in L; lia).
  assert (N : INR (length l) = 2 * INR k + 1) by (rewrite LL, plus_INR, mult_INR; reflexivity).
  assert (D : 2 * INR k - 1 <> 0).
  { intros Z. destruct k as [|k]; [simpl in Z; lra|]. generalize (le_INR 1 (S k) ltac:(lia)). simpl (INR 1). lra. }
  assert (T : INR (2 * k) - 1 = 2 * INR k - 1) by (rewrite mult_INR; reflexivity).
  assert (P : 0 <= INR k) by apply pos_INR.
  rewrite (sum_over_ext _ (fun p => a + c * pair_variance A (x + fst p)
    + c / (2 * INR k - 1) * couples (pair_variance A) (snd p))).
  + rewrite (sum_over_linear a c (c / (2 * INR k - 1)) (fun p => pair_variance A (x + fst p))
      (fun p => couples (pair_variance A) (snd p))).
    rewrite (picks_first (fun y => pair_variance A (x + y))), picks_couples, picks_length, N. simpl couples.
    replace (INR (2 * S k)) with (2 * INR k + 2) by (replace (2 * S k)%nat with (2 * k + 2)%nat by lia;
      rewrite plus_INR, mult_INR; reflexivity).
    field. split; lra.
  + intros p I. destruct (picks_in l p I) as (B & _).
    transitivity (over_pairings k (snd p) (fun o => (a + c * pair_variance A (x + fst p)) + c * paired_errors A k o)).
    * f_equal. apply functional_extensionality. intros o. ring.
    * rewrite IH by lia. rewrite T. field. exact D.
Qed.

Lemma nth_bounded o : List.Forall (fun x => -1 <= x <= 1) o -> bounded (fun i => nth i o 0).
Proof.
intros F i. destruct (Nat.lt_ge_cases i (length o)) as [L|L].
- apply (proj1 (List.Forall_forall _ o) F), nth_In, L.
- rewrite nth_overflow by exact L. lra.
Qed.

(* the mean squared error of the mean of n outputs, over uniform pairings *)
Theorem CB_T2_star A (l : list R) k : 1 <= A -> (1 <= k)%nat -> List.Forall (fun x => -1 <= x <= 1) l ->
  let n := INR (length l) in
  (length l = (2 * k)%nat -> over_pairings k l (fun o => error k 0 A (fun i => nth i o 0))
    = / n ^ 2 * (/ (n - 1) * couples (fun s => 2 * A * Rabs s - s ^ 2) l))
  /\ (length l = (2 * k + 1)%nat -> over_odd_pairings k l (fun o => error k 1 A (fun i => nth i o 0))
    = / n ^ 2 * (/ n * couples (fun s => 2 * A * Rabs s - s ^ 2) l + / n * sum_over (fun x => A ^ 2 - x ^ 2) l)).
Proof.
intros HA K F n. assert (K1 : 1 <= INR k) by (apply (le_INR 1); exact K). split; intros L.
- assert (N : n = 2 * INR k) by (unfold n; rewrite L, mult_INR; reflexivity).
  rewrite (over_pairings_ext k l _ (fun o => 0 + / n ^ 2 * paired_errors A k o) L F).
  + rewrite (mean_of_pairs A k l 0 (/ n ^ 2) L). replace (INR (2 * k)) with n by (unfold n; rewrite L; reflexivity).
    change (fun s => 2 * A * Rabs s - s ^ 2) with (pair_variance A). field. lra.
  + intros o O1 O2. rewrite error_is by (try apply nth_bounded; try assumption; lia). rewrite paired_errors_is by lia.
    rewrite Nat.add_0_r.
    cbn [total]. replace (INR (2 * k)) with n by (unfold n; rewrite L; reflexivity). field. lra.
- assert (N : n = 2 * INR k + 1) by (unfold n; rewrite L, plus_INR, mult_INR; reflexivity).
  unfold over_odd_pairings. fold n.
  rewrite (sum_over_ext _ (fun p => 0 + / n ^ 2 * (A ^ 2 - fst p ^ 2)
    + / n ^ 2 / (2 * INR k - 1) * couples (pair_variance A) (snd p))).
  + rewrite (sum_over_linear 0 (/ n ^ 2) (/ n ^ 2 / (2 * INR k - 1)) (fun p => A ^ 2 - fst p ^ 2)
      (fun p => couples (pair_variance A) (snd p))).
    rewrite (picks_first (fun x => A ^ 2 - x ^ 2)), picks_couples. fold n.
    change (fun s => 2 * A * Rabs s - s ^ 2) with (pair_variance A). rewrite N. field. split; lra.
  + intros p I. destruct (picks_in l p I) as (P & B). destruct (B _ F) as (B1 & B2).
    rewrite (over_pairings_ext k (snd p) _
      (fun o => / n ^ 2 * (A ^ 2 - fst p ^ 2) + / n ^ 2 * paired_errors A k o) ltac:(lia) B2).
    * rewrite (mean_of_pairs A k (snd p) _ (/ n ^ 2) ltac:(lia)).
      replace (INR (2 * k)) with (2 * INR k) by (rewrite mult_INR; reflexivity). field. split; lra.
    * intros o O1 O2. assert (LO : length o = (2 * k)%nat) by lia.
      rewrite error_is by (try (apply nth_bounded, List.Forall_app; split; [assumption | apply List.Forall_cons;
        [exact B1 | apply List.Forall_nil]]); try assumption; lia).
      replace (INR (2 * k + 1)) with n by (unfold n; rewrite L; reflexivity).
      rewrite paired_errors_is by exact LO. cbn [total]. rewrite (app_nth2 o), LO by lia.
      replace (2 * k + 0 - 2 * k)%nat with 0%nat by lia. cbn [nth]. unfold single_variance.
      rewrite (total_ext k (fun j => pair_variance A (nth (2 * j) (o ++ [fst p]) 0 + nth (2 * j + 1) (o ++ [fst p]) 0))
        (fun j => pair_variance A (nth (2 * j) o 0 + nth (2 * j + 1) o 0))) by (intros j Hj; rewrite !app_nth1 by lia;
          reflexivity).
      field. lra.
Qed.

(* With dropout, the exact worst error. *)
Definition counted (a : bool) : R := if a then 1 else 0.
Definition inverse_square (x : R) : R := if Req_EM_T x 0 then 0 else / x ^ 2.

Lemma number_set n alive a : number (S n) (set alive n a) = number n alive + counted a.
Proof. unfold number, present. apply (set_total n alive a (fun _ b => if b then 1 else 0)). Qed.

Lemma over_dropout_S p n h : over_dropout p (S n) h
  = (1 - p) * over_dropout p n (fun u => h (set u n true)) + p * over_dropout p n (fun u => h (set u n false)).
Proof. unfold over_dropout. cbn [each]. apply (stays_is p (fun x => each true (fun _ => E (stays p)) n
  (fun u => h (set u n x)))). Qed.

Lemma over_dropout_ext p n h h' : (forall alive, h alive = h' alive) -> over_dropout p n h = over_dropout p n h'.
Proof. apply each_ext. Qed.

Lemma set_other {B : Type} (u : nat -> B) k x i : i <> k -> set u k x i = u i.
Proof. intros H. unfold set. destruct (Nat.eqb_spec i k); [contradiction | reflexivity]. Qed.

Lemma set_same {B : Type} (u : nat -> B) k x : set u k x k = x.
Proof. unfold set. rewrite Nat.eqb_refl. reflexivity. Qed.

(* the mean over both clients of a pair *)
Definition over_pair (p : R) (h : bool -> bool -> R) : R :=
  (1 - p) * ((1 - p) * h true true + p * h true false) + p * ((1 - p) * h false true + p * h false false).

Lemma over_dropout_last p n h : over_dropout p (S (S n)) h = over_pair p (fun a b => over_dropout p n
  (fun u => h (set (set u n a) (S n) b))).
Proof. rewrite over_dropout_S. rewrite !over_dropout_S. unfold over_pair. ring. Qed.

(* one pair apart, of the others only the number that is left counts *)
Lemma over_dropout_pair p P j (f : bool -> bool -> R -> R) : (j < P)%nat ->
  over_dropout p (2 * P) (fun alive => f (alive (2 * j)%nat) (alive (2 * j + 1)%nat) (number (2 * P) alive))
  = over_pair p (fun a b => over_dropout p (2 * P - 2) (fun alive => f a b (counted a + counted b + number (2 * P - 2) alive))).
Proof.
revert f. induction P as [|P IH]; intros f H; [lia|]. replace (2 * S P)%nat with (S (S (2 * P))) by lia.
replace (S (S (2 * P)) - 2)%nat with (2 * P)%nat by lia. rewrite over_dropout_last.
destruct (Nat.eq_dec j P) as [->|N].
- unfold over_pair. replace (2 * P + 1)%nat with (S (2 * P)) by lia.
  assert (E : forall a b, over_dropout p (2 * P)
    (fun u => f (set (set u (2 * P) a) (S (2 * P)) b (2 * P)%nat) (set (set u (2 * P) a) (S (2 * P)) b (S (2 * P)))
      (number (S (S (2 * P))) (set (set u (2 * P) a) (S (2 * P)) b)))
    = over_dropout p (2 * P) (fun alive => f a b (counted a + counted b + number (2 * P) alive))).
  { intros a b. apply over_dropout_ext. intros u. rewrite set_other, !set_same, !number_set by lia. f_equal. ring. }
  rewrite !E. reflexivity.
- assert (J : (j < P)%nat) by lia.
  assert (E : forall a b, over_dropout p (2 * P)
    (fun u => f (set (set u (2 * P) a) (S (2 * P)) b (2 * j)%nat) (set (set u (2 * P) a) (S (2 * P)) b (2 * j + 1)%nat)
      (number (S (S (2 * P))) (set (set u (2 * P) a) (S (2 * P)) b)))
    = over_pair p (fun c d => over_dropout p (2 * P - 2)
      (fun alive => f c d (counted c + counted d + number (2 * P - 2) alive + counted a + counted b)))).
  { intros a b. rewrite <- (IH (fun c d x => f c d (x + counted a + counted b)) J). apply over_dropout_ext. intros u.
    rewrite !set_other, !number_set by lia. reflexivity. }
  assert (D : forall c d, over_dropout p (2 * P) (fun alive => f c d (counted c + counted d + number (2 * P) alive))
    = over_pair p (fun a b => over_dropout p (2 * P - 2)
      (fun alive => f c d (counted c + counted d + number (2 * P - 2) alive + counted a + counted b)))).
  { intros c d. set (m := (2 * P - 2)%nat). replace (2 * P)%nat with (S (S m)) by (unfold m; lia). rewrite over_dropout_last.
    unfold over_pair. do 2 f_equal; f_equal; f_equal; apply over_dropout_ext; intros u; f_equal; rewrite !number_set; ring. }
  unfold over_pair at 1. rewrite !E. unfold over_pair at 5. rewrite !D. unfold over_pair. ring.
Qed.

(* e_i, of the clients outside a pair *)
Definition inverse_moment (p : R) (P i : nat) : R := over_dropout p (2 * P - 2)
  (fun alive => / (INR i + number (2 * P - 2) alive) ^ 2).

Definition left_pair_variance (A x y : R) (a b : bool) : R :=
  match a, b with
  | true, true => pair_variance A (x + y)
  | true, false => single_variance A x
  | false, true => single_variance A y
  | false, false => 0
  end.

Lemma over_dropout_total p n K (h : nat -> (nat -> bool) -> R) :
  over_dropout p n (fun alive => total K (fun j => h j alive)) = total K (fun j => over_dropout p n (h j)).
Proof.
revert h. induction n as [|n IH]; intros h; [reflexivity|]. rewrite over_dropout_S.
rewrite (IH (fun j u => h j (set u n true))), (IH (fun j u => h j (set u n false))), <- !total_times, <- total_plus.
apply total_ext. intros j _. symmetry. apply over_dropout_S.
Qed.

Lemma corbin_error_is p A P w : 1 <= A -> bounded w -> corbin_error p A P w = total P (fun j =>
  let x := w (2 * j)%nat in let y := w (2 * j + 1)%nat in
  p * (1 - p) * inverse_moment p P 1 * (single_variance A x + single_variance A y)
  + (1 - p) ^ 2 * inverse_moment p P 2 * pair_variance A (x + y)).
Proof.
intros HA B. unfold corbin_error.
transitivity (over_dropout p (2 * P) (fun alive => total P (fun j =>
  left_pair_variance A (w (2 * j)%nat) (w (2 * j + 1)%nat) (alive (2 * j)%nat) (alive (2 * j
    + 1)%nat) * inverse_square (number (2 * P) alive)))).
- apply over_dropout_ext. intros alive. unfold inverse_square. destruct (Req_EM_T (number (2 * P) alive) 0) as [Z|Z].
  + unfold left_error. destruct (Req_EM_T (number (2 * P) alive) 0); [|contradiction].
    rewrite (total_ext P _ (fun _ => 0)) by (intros; ring). rewrite total_const. ring.
  + assert (N : 0 < number (2 * P) alive) by (generalize (number_positive (2 * P) alive); lra).
    rewrite (left_error_is _ _ _ _ _ (fun j => left_pair_variance A (w (2 * j)%nat) (w (2 * j
      + 1)%nat) (alive (2 * j)%nat) (alive (2 * j + 1)%nat)) N).
    * unfold Rdiv. rewrite Rmult_comm, <- total_times. apply total_ext. intros; ring.
    * exists (fun j => present alive w (2 * j)%nat + present alive w (2 * j + 1)%nat). split; [|symmetry; apply total_pairs].
      intros j _. unfold present, left_pair_law, left_pair_variance. destruct (alive (2 * j)%nat), (alive (2 * j + 1)%nat).
      -- apply pair_law_moments; auto.
      -- rewrite Rplus_0_r. apply single_law_moments, HA.
      -- rewrite Rplus_0_l. apply single_law_moments, HA.
      -- intros a b c. ring.
- rewrite over_dropout_total. apply total_ext. intros j Hj. cbv zeta.
  rewrite (over_dropout_pair p P j (fun a b x => left_pair_variance A (w (2 * j)%nat) (w (2 * j
    + 1)%nat) a b * inverse_square x) Hj).
  assert (M : forall c i, (0 < i)%nat -> over_dropout p (2 * P - 2)
    (fun alive => c * inverse_square (INR i + number (2 * P - 2) alive)) = c * inverse_moment p P i).
  { intros c i I. rewrite over_dropout_times. f_equal. apply over_dropout_ext. intros u. unfold inverse_square.
    generalize (number_positive (2 * P - 2) u) (lt_0_INR i I). intros U V.
    destruct (Req_EM_T (INR i + number (2 * P - 2) u) 0); [lra | reflexivity]. }
  assert (cell_of : forall c a b i, (0 < i)%nat -> counted a + counted b = INR i ->
    over_dropout p (2 * P - 2) (fun alive => c * inverse_square (counted a + counted b
      + number (2 * P - 2) alive)) = c * inverse_moment p P i).
  { intros c a b i I E1. rewrite E1. apply M, I. }
  unfold over_pair, left_pair_variance.
  rewrite (cell_of _ true true 2%nat), (cell_of _ true false 1%nat), (cell_of _ false true 1%nat) by (try lia; simpl; ring).
  rewrite (over_dropout_times p (2 * P - 2) 0). ring.
Qed.

(* s is where the mean error of a pair is greatest *)
Theorem CB_T4_star p A P s : 1 <= A -> 0 <= p <= 1 -> 0 <= s <= 2 ->
  let e1 := inverse_moment p P 1 in let e2 := inverse_moment p P 2 in
  let of_pair u := 2 * p * (1 - p) * e1 * (A ^ 2 - u ^ 2 / 4) + (1 - p) ^ 2 * e2 * (2 * A * u - u ^ 2) in
  (forall u, 0 <= u <= 2 -> of_pair u <= of_pair s) ->
  is_lub (fun e => exists w, bounded w /\ e = corbin_error p A P w) (INR (2 * P) / 2 * of_pair s).
Proof.
intros HA Hp S e1 e2 of_pair G.
assert (K : INR (2 * P) / 2 = INR P) by (rewrite mult_INR; simpl; field). rewrite K, <- total_const.
assert (E0 : 0 <= e1).
{ unfold e1, inverse_moment. apply Rle_trans with (over_dropout p (2 * P - 2) (fun _ => 0 * 0)).
  - right. rewrite over_dropout_times. ring.
  - apply over_dropout_at_most. exact Hp. intros u. rewrite Rmult_0_l. left. apply Rinv_0_lt_compat, pow_lt.
    generalize (number_positive (2 * P - 2) u). simpl (INR 1). lra. }
split.
- intros e (w & B & ->). rewrite corbin_error_is by assumption. apply total_le. intros j _. cbv zeta. fold e1 e2.
  set (x := w (2 * j)%nat). set (y := w (2 * j + 1)%nat). generalize (B (2 * j)%nat) (B (2 * j + 1)%nat). fold x y. intros X Y.
  apply Rle_trans with (of_pair (Rabs (x + y))).
  + unfold of_pair. rewrite pow2_abs. unfold pair_variance, single_variance. apply Rplus_le_compat_r.
    replace (2 * p * (1 - p) * e1 * (A ^ 2 - (x + y) ^ 2 / 4)) with (p * (1 - p) * e1 * (2 * A ^ 2 - (x + y) ^ 2 / 2)) by field.
    apply Rmult_le_compat_l. repeat apply Rmult_le_pos; lra. generalize (pow2_ge_0 (x - y)). lra.
  + apply G. split. apply Rabs_pos. apply Rabs_le. lra.
- intros b B. apply B. exists (fun _ => s / 2). assert (W : bounded (fun _ => s / 2)) by (intros i; lra). split; [exact W|].
  rewrite corbin_error_is by assumption. apply total_ext. intros j _. cbv zeta. fold e1 e2.
  unfold of_pair, pair_variance, single_variance.
  replace (s / 2 + s / 2) with s by field. rewrite (Rabs_pos_eq s) by lra. field.
Qed.

(* What follows is about any laws, on any class of events of any space (Divergence.v). *)
From Airtight Require Import Model Divergence.

(** A pair of clients shares a number z of N, which has the probability r z. Given z the partner's output is the o-th of n with
   probability v z o, and what the client's output and those of all clients outside the pair sum to has the law P z, or Q z
   after the client's update is replaced: coins are private. Added to the partner's output it is the sum of all; moved o A says
   that the rest is such that the sum is in A. d o and d are the divergences given the partner's output o, and of the sum. *)
Definition of_partner (N : nat) (r : nat -> R) (v : nat -> nat -> R) (o : nat) : R := total N (fun z => r z * v z o).
Definition given_partner {event : Type} N r v (P : nat -> event -> R) (o : nat) : event -> R :=
  fun A => total N (fun z => r z * v z o * P z A) / of_partner N r v o.
Definition of_sum {event : Type} N r v n (moved : nat -> event -> event) (P : nat -> event -> R) : event -> R :=
  fun A => total N (fun z => r z * total n (fun o => v z o * P z (moved o A))).

Theorem CB_D_suffices (event : Type) N r v n (moved : nat -> event -> event) (P Q : nat -> event -> R) lambda d sum greatest :
  weights N r -> (forall z, (z < N)%nat -> weights n (v z)) -> (forall z, likely (P z)) -> (forall z, likely (Q z)) ->
  (forall o, (o < n)%nat -> 0 < of_partner N r v o ->
    divergence lambda (given_partner N r v P o) (given_partner N r v Q o) (d o) /\ d o <= greatest) ->
  divergence lambda (of_sum N r v n moved P) (of_sum N r v n moved Q) sum ->
  sum <= total n (fun o => of_partner N r v o * d o) /\ sum <= greatest.
Proof.
  intros [R0 R1] V LP LQ H S.
  assert (W0 : forall o, (o < n)%nat -> 0 <= of_partner N r v o).
  { intros o O. apply total_positive. intros z Z. apply Rmult_le_pos. auto. apply (V z Z). exact O. }
  assert (W1 : total n (of_partner N r v) = 1).
  { transitivity (total N (fun z => total n (fun o => r z * v z o))). symmetry; apply total_swap.
    rewrite <- R1. apply total_ext. intros z Z. rewrite total_times, (proj2 (V z Z)). ring. }
  assert (J : forall (X : nat -> event -> R), (forall z, likely (X z)) -> forall A,
    of_sum N r v n moved X A = total n (fun o => of_partner N r v o * given_partner N r v X o (moved o A))).
  { intros X LX A. unfold of_sum.
    transitivity (total N (fun z => total n (fun o => r z * v z o * X z (moved o A)))).
    - apply total_ext. intros z Z. rewrite <- total_times. apply total_ext. intros. ring.
    - rewrite total_swap. apply total_ext. intros o O. unfold given_partner.
      destruct (Rle_lt_or_eq_dec _ _ (W0 o O)) as [p | e]. field; lra. rewrite <- e, Rmult_0_l.
      (* no outcome of probability 0 counts *)
      apply Rle_antisym; [|apply total_positive; intros z Z; apply Rmult_le_pos; [apply Rmult_le_pos; [auto | apply (V z Z);
        exact O] | apply LX]].
      rewrite e. apply total_le. intros z Z. assert (0 <= r z * v z o) by (apply Rmult_le_pos; [auto | apply (V z Z);
        exact O]).
      generalize (LX z (moved o A)). intro. nra. }
  assert (K : sum <= total n (fun o => of_partner N r v o * d o)).
  { apply (divergence_within _ _ _ _ _ S). intro A. rewrite !J by assumption. rewrite <- total_times.
    replace (_ - _) with (total n (fun o => 1 * (of_partner N r v o * given_partner N r v P o (moved o A))
      + -1 * (lambda * (of_partner N r v o * given_partner N r v Q o (moved o A))))) by (rewrite total_combined; ring).
    apply total_le. intros o O. destruct (Rle_lt_or_eq_dec _ _ (W0 o O)) as [p | e]; [|rewrite <- e; lra].
    destruct (H o O p) as [D _]. generalize (proj2 (divergence_within _ _ _ _ _ D) (Rle_refl _) (moved o A)). intro.
    assert (of_partner N r v o * (given_partner N r v P o (moved o A) - lambda * given_partner N r v Q o (moved o A)) <=
      of_partner N r v o * d o)
      by (apply Rmult_le_compat_l; lra). lra. }
  split. exact K. apply Rle_trans with (1 := K). rewrite <- (Rmult_1_r greatest), <- W1, <- total_times.
  apply total_le. intros o O. destruct (Rle_lt_or_eq_dec _ _ (W0 o O)) as [p | e]; [|rewrite <- e; lra].
  destruct (H o O p) as [_ G]. nra.
Qed.

(** The numbers 0, ..., N - 1 as they stand, and all moved by z modulo N. *)
Lemma total_turned N (f : nat -> R) : (0 < N)%nat -> forall z, total N (fun u => f ((z + u) mod N)%nat) = total N f.
Proof.
  intros P. assert (S : forall k (g : nat -> R), total k (fun u => g (S u)) = total k g - g 0%nat + g k).
  { induction k; intros; simpl. ring. rewrite IHk. ring. }
  induction z as [|z IH].
  - apply total_ext. intros u U. simpl. rewrite Nat.mod_small by exact U. reflexivity.
  - rewrite <- IH. rewrite (total_ext N _ (fun u => (fun t => f ((z + t) mod N)%nat) (Datatypes.S u)))
      by (intros u _; cbv beta; f_equal; f_equal; lia).
    rewrite (S N (fun t => f ((z + t) mod N)%nat)). cbv beta. replace ((z + N) mod N)%nat with ((z + 0) mod N)%nat. ring.
    rewrite Nat.add_0_r. replace (z + N)%nat with (z + 1 * N)%nat by lia. rewrite Nat.mod_add by lia. reflexivity.
Qed.

(** A threshold's share of the cell z: all below it, and the part of its own cell (the private coin). *)
Definition share_of_cell (threshold : R) (z : nat) : R := Rmin (Rmax (threshold - INR z) 0) 1.

Lemma cells_filled threshold k : 0 <= threshold -> total k (share_of_cell threshold) = Rmin threshold (INR k).
Proof.
  intro T. induction k as [|k IH]. simpl. rewrite Rmin_right; lra.
  simpl total. rewrite IH, S_INR. unfold share_of_cell, Rmin, Rmax. generalize (pos_INR k). intro.
  repeat destruct (Rle_dec _ _); lra.
Qed.

(** The output of a client at the place x of [-1, 1] is minus where Z is below 2^d (1/2 - x / (2 alpha)), and a coin decides in
   the cell of that threshold (a client that compares from the other side sends plus below 2^d (1/2 + x / (2 alpha))). Z is the
   sum modulo 2^d of the partner's number and a uniform one that is independent of it. *)
Theorem CB_A3_Z_star d x alpha partner : -1 <= x <= 1 -> 1 <= alpha ->
  let N := (2 ^ d)%nat in
  let mean (f : nat -> R) := total N (fun u => / INR N * f ((partner + u) mod N)%nat) in
  mean (share_of_cell (INR N * (1 / 2 - x / (2 * alpha)))) = 1 / 2 - x / (2 * alpha) /\
  mean (share_of_cell (INR N * (1 / 2 + x / (2 * alpha)))) = 1 / 2 + x / (2 * alpha).
Proof.
  intros X A N mean. assert (P : (0 < N)%nat) by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia).
  assert (R0 : 0 < INR N) by (apply lt_0_INR; exact P).
  assert (Y : -1 / 2 <= x / (2 * alpha) <= 1 / 2).
  { replace (x / (2 * alpha)) with (x * / alpha / 2) by (field; lra). assert (I0 : 0 < / alpha) by (apply Rinv_0_lt_compat; lra).
    assert (I1 : / alpha <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). split; nra. }
  assert (K : forall q, 0 <= q <= 1 -> mean (share_of_cell (INR N * q)) = q).
  { intros q Q. unfold mean. rewrite total_times, total_turned by exact P. rewrite cells_filled by nra.
    rewrite Rmin_left by nra. field. lra. }
  split; apply K; lra.
Qed.

(** What the server sees of a pair: whether each sends plus. An event S is a set of such outcomes. *)
Definition hit (S : bool -> bool -> bool) (u v : R) : R :=
  (if S true true then cell true true u v else 0) + (if S true false then cell true false u v else 0)
  + (if S false true then cell false true u v else 0) + (if S false false then cell false false u v else 0).

Lemma hit_between S u v : 0 <= u <= 1 -> 0 <= v <= 1 -> 0 <= hit S u v <= 1.
Proof.
  intros U V. assert (0 <= u * v) by nra. assert (0 <= u * (1 - v)) by nra. assert (0 <= (1 - u) * v) by nra.
  assert (0 <= (1 - u) * (1 - v)) by nra.
  unfold hit, cell. destruct (S true true), (S true false), (S false true), (S false false); nra.
Qed.

Definition one_cell (S : bool -> bool -> bool) (p r : R) : R := E (coin p) (fun u => E (coin r) (fun v => hit S u (1 - v))).

Lemma one_cell_is S p r : one_cell S p r = hit S p (1 - r).
Proof. unfold one_cell, coin, hit, cell; simpl. destruct (S true true), (S true false), (S false true), (S false false); ring.
  Qed.

Lemma hit_moves S u u' v : 0 <= v <= 1 -> hit S u v - hit S u' v <= Rabs (u - u').
Proof.
  intro V. unfold hit, cell, Rabs. destruct (Rcase_abs (u - u')), (S true true), (S true false), (S false true),
    (S false false); nra.
Qed.

Lemma share_between i f z : 0 <= f < 1 -> 0 <= share i f z <= 1.
Proof. intro F. unfold share. destruct (z <? i)%nat, (z =? i)%nat; lra. Qed.

Lemma share_rises i f i' f' z : 0 <= f < 1 -> 0 <= f' < 1 -> INR i + f <= INR i' + f' -> share i f z <= share i' f' z.
Proof.
  intros F F' H. assert (I : (i <= i')%nat).
  { apply Nat.lt_succ_r. apply INR_lt. rewrite S_INR. lra. }
  unfold share. destruct (Nat.ltb_spec z i), (Nat.ltb_spec z i'); try lia; try (destruct (z =? i)%nat; lra).
  - destruct (Nat.eqb_spec z i), (Nat.eqb_spec z i'); try lra; try lia. replace i' with i in H by lia. lra.
Qed.

Lemma shares_apart n i f i' f' : 0 <= f < 1 -> 0 <= f' < 1 ->
  total n (fun z => Rabs (share i f z - share i' f' z)) = Rabs (total n (share i f) - total n (share i' f')).
Proof.
  intros F F'. assert (M : forall a b, total n a - total n b = total n (fun z => a z - b z)).
  { intros a b. induction n as [|m IH]; simpl. ring. rewrite <- IH. ring. }
  rewrite M. destruct (Rle_dec (INR i + f) (INR i' + f')) as [L | L].
  - rewrite Rabs_left1.
    + rewrite (Sums.total_ext n _ (fun z => -1 * (share i f z - share i' f' z))).
      rewrite total_times. ring. intros z _. rewrite Rabs_left1. ring. generalize (share_rises i f i' f' z F F' L).
        lra.
    + rewrite <- M. enough (total n (share i f) <= total n (share i' f')) by lra.
      apply total_le. intros. apply share_rises; assumption.
  - rewrite Rabs_pos_eq.
    + apply Sums.total_ext. intros z _. rewrite Rabs_pos_eq. reflexivity. generalize (share_rises i' f' i f z F' F ltac:(lra)).
      lra.
    + rewrite <- M. enough (total n (share i' f') <= total n (share i f)) by lra.
      apply total_le. intros. apply share_rises; try assumption. lra.
Qed.

Lemma chances_apart A x x' : 1 <= A -> -1 <= x <= 1 -> -1 <= x' <= 1 -> Rabs (chance A x - chance A x') <= 1 / A.
Proof.
  intros HA X X'. unfold chance. replace (1 / 2 + x / (2 * A) - (1 / 2 + x' / (2 * A))) with ((x - x') / 2 * / A) by (field; lra).
  rewrite Rabs_mult, (Rabs_pos_eq (/ A)) by (left; apply Rinv_0_lt_compat; lra). unfold Rdiv at 2.
  apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; lra. unfold Rabs. destruct (Rcase_abs _); lra.
Qed.

(** One client of a pair replaces its update x by x'; its partner's is y. With d shared bits the divergence is at most 1 / alpha
   at every lambda = e^epsilon of at least 1; with infinitely many that is exactly the worst one. *)
Theorem CB_PLDP_star epsilon lambda : 0 < epsilon -> 1 <= lambda -> let A := alpha epsilon in
  1 / A = tanh (epsilon / 2) /\
  (forall d i f i' f' k g x x' y S, -1 <= x <= 1 -> -1 <= x' <= 1 -> -1 <= y <= 1 ->
    levels (2 ^ d) i f k g A x y -> levels (2 ^ d) i' f' k g A x' y ->
    pair_mean (2 ^ d) i f k g (hit S) - lambda * pair_mean (2 ^ d) i' f' k g (hit S) <= 1 / A) /\
  is_lub (fun z => exists x x' y S, -1 <= x <= 1 /\ -1 <= x' <= 1 /\ -1 <= y <= 1 /\
    z = limit_mean A x y (hit S) - lambda * limit_mean A x' y (hit S)) (1 / A).
Proof.
  intros He L A. generalize (alpha_above_1 epsilon He). fold A. intro A1. split; [|split].
  - unfold A, alpha, tanh, sinh, cosh. assert (X : 1 < exp epsilon) by (rewrite <- exp_0; apply exp_increasing; exact He).
    replace epsilon with (epsilon / 2 + epsilon / 2) at 1 2 by field. rewrite exp_plus.
    rewrite exp_Ropp. assert (Y : 1 < exp (epsilon / 2)) by (rewrite <- exp_0; apply exp_increasing; lra).
    set (t := exp (epsilon / 2)) in *. field. repeat split; nra.
  - intros d i f i' f' k g x x' y S X X' Y (F & G & U & V) (F' & _ & U' & _).
    set (N := (2 ^ d)%nat) in *. assert (P : (0 < N)%nat) by (apply cells_positive).
      assert (N0 : 0 < INR N) by (apply lt_0_INR; exact P).
    generalize (chance_between A x ltac:(lra) X) (chance_between A x' ltac:(lra) X'). intros CX CX'.
    destruct (level_inside N i f (chance A x) P F CX U) as [I1 I2]. destruct (level_inside N i' f' (chance A x') P F' CX' U') as
      [J1 J2].
    assert (Q0 : forall j e, 0 <= e < 1 -> pair_mean N j e k g (hit S) = total N (fun z => hit S (share j e z) (1 - share k g
      z)) / INR N).
    { intros j e _. unfold pair_mean. f_equal. apply Sums.total_ext. intros z _. apply one_cell_is. }
    rewrite !Q0 by assumption.
    assert (H0 : forall j e z, 0 <= e < 1 -> 0 <= hit S (share j e z) (1 - share k g z)).
    { intros j e z B. apply hit_between. apply share_between; exact B. generalize (share_between k g z G). lra. }
    set (a := total N (fun z => hit S (share i f z) (1 - share k g z))).
    set (b := total N (fun z => hit S (share i' f' z) (1 - share k g z))).
    assert (B0 : 0 <= b) by (apply total_positive; intros; apply H0; exact F').
    assert (D : a - b <= INR N * (1 / A)).
    { apply Rle_trans with (total N (fun z => Rabs (share i f z - share i' f' z))).
      - unfold a, b. replace (_ - _) with (total N (fun z => 1 * hit S (share i f z) (1 - share k g z) + -1 * hit S (share i' f'
        z) (1 - share k g z)))
          by (rewrite total_combined; ring).
        apply total_le. intros z _. generalize (hit_moves S (share i f z) (share i' f' z) (1 - share k g z)).
        generalize (share_between k g z G). intros B M. specialize (M ltac:(lra)). lra.
      - rewrite shares_apart, (total_share N i f I1 I2), (total_share N i' f' J1 J2), U, U' by assumption.
        replace (INR N * chance A x - INR N * chance A x') with (INR N * (chance A x - chance A x')) by ring.
        rewrite Rabs_mult, (Rabs_pos_eq (INR N)) by lra. apply Rmult_le_compat_l. lra. apply chances_apart; lra. }
    apply (Rmult_le_reg_r (INR N)). exact N0.
    replace ((a / INR N - lambda * (b / INR N)) * INR N) with (a - lambda * b) by (field; lra). nra.
  - assert (HI : forall x y S, -1 <= x <= 1 -> -1 <= y <= 1 -> let both := Rmax 0 (chance A x + chance A y - 1) in
      limit_mean A x y (hit S) = (if S true true then both else 0) + (if S true false then chance A x - both else 0)
        + (if S false true then chance A y - both else 0) + (if S false false then 1 - chance A x - chance A y + both else 0)).
    { intros x y S X Y both. rewrite limit_mean_is by (try apply chance_between; lra).
      replace ((x + y) / (2 * A)) with (chance A x + chance A y - 1) by (unfold chance; field; lra). fold both.
      unfold hit, cell. destruct (S true true), (S true false), (S false true), (S false false); ring. }
    split.
    + intros z (x & x' & y & S & X & X' & Y & ->). rewrite !HI by assumption.
      generalize (chance_between A x ltac:(lra) X) (chance_between A x' ltac:(lra) X') (chance_between A y ltac:(lra) Y)
        (chances_apart A x x' ltac:(lra) X X').
      set (p := chance A x). set (p' := chance A x'). set (r := chance A y). set (bound := 1 / A). intros B B' C D.
      assert (Q : 0 <= (if S true true then Rmax 0 (p' + r - 1) else 0) + (if S true false then p' - Rmax 0 (p' + r - 1) else 0)
        + (if S false true then r - Rmax 0 (p' + r - 1) else 0) + (if S false false then 1 - p' - r + Rmax 0 (p' + r - 1) else
          0)).
      { unfold Rmax. destruct (Rle_dec _ _), (S true true), (S true false), (S false true), (S false false); lra. }
      match type of Q with 0 <= ?q => apply Rle_trans with ((if S true true then Rmax 0 (p + r - 1) else 0) + (if S true false
        then p - Rmax 0 (p + r - 1) else 0)
        + (if S false true then r - Rmax 0 (p + r - 1) else 0) + (if S false false then 1 - p - r + Rmax 0 (p + r - 1) else 0) -
          1 * q);
        [assert (1 * q <= lambda * q) by (apply Rmult_le_compat_r; lra); lra|] end.
      unfold Rmax, Rabs in *. destruct (Rcase_abs (p - p')), (Rle_dec 0 (p + r - 1)), (Rle_dec 0 (p' + r - 1)),
        (S true true), (S true false), (S false true), (S false false); lra.
    + intros b B. apply B. exists 1, (-1), 1, (fun a c => andb a c). repeat split; try lra. rewrite !HI by lra. simpl.
      unfold chance. replace (1 / 2 + 1 / (2 * A) + (1 / 2 + 1 / (2 * A)) - 1) with (1 / A) by (field; lra).
      replace (1 / 2 + -1 / (2 * A) + (1 / 2 + 1 / (2 * A)) - 1) with 0 by (field; lra).
      rewrite (Rmax_left 0 0), Rmax_right by (try lra; apply Rlt_le, Rdiv_lt_0_compat; lra). ring.
Qed.

(* What a partner tells: the shared number z, beside the output, minus with probability m. An event is a set of such outcomes. *)
Definition told (S : nat -> bool -> bool) (z : nat) (m : R) : R := (if S z true then m else 0) + (if S z false then 1 - m else 0).

Definition surplus (lambda a b : R) : R := Rmax (a - lambda * b) 0 + Rmax (1 - a - lambda * (1 - b)) 0.

Lemma best_of_told n lambda (a b : nat -> R) : (0 < n)%nat ->
  is_lub (fun x => exists S, x = total n (fun z => told S z (a z)) / INR n - lambda * (total n (fun z => told S z (b z)) / INR n))
    (total n (fun z => surplus lambda (a z) (b z)) / INR n).
Proof.
  intro N. assert (P : 0 < INR n) by (apply lt_0_INR; exact N).
  assert (E : forall S, total n (fun z => told S z (a z)) / INR n - lambda * (total n (fun z => told S z (b z)) / INR n)
    = total n (fun z => told S z (a z) - lambda * told S z (b z)) / INR n).
  { intro S. rewrite total_minus, total_times. field. lra. }
  split.
  - intros x [S ->]. rewrite E. apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; exact P.
    apply total_le. intros z _. unfold told, surplus.
    generalize (Rmax_l (a z - lambda * b z) 0) (Rmax_r (a z - lambda * b z) 0)
      (Rmax_l (1 - a z - lambda * (1 - b z)) 0) (Rmax_r (1 - a z - lambda * (1 - b z)) 0). intros.
    destruct (S z true), (S z false); lra.
  - intros bound B. apply B.
    exists (fun z minus => if Rle_dec 0 (if minus : bool then a z - lambda * b z else 1 - a z - lambda * (1 - b z)) then true else
      false).
    rewrite E. f_equal. apply total_ext. intros z _. unfold told, surplus.
    destruct (Rle_dec 0 (a z - lambda * b z)), (Rle_dec 0 (1 - a z - lambda * (1 - b z)));
      rewrite ?(Rmax_left (a z - lambda * b z)), ?(Rmax_right (a z - lambda * b z)),
        ?(Rmax_left (1 - a z - lambda * (1 - b z))), ?(Rmax_right (1 - a z - lambda * (1 - b z))) by lra; lra.
Qed.

(* One level above another: whole cells between them count 1, the two end cells what they hold of it. *)
Lemma surplus_of_levels n i f j g lambda : (i < j)%nat -> (j <= n)%nat -> (j = n -> g = 0) -> 0 <= f < 1 -> 0 <= g < 1 -> 1 <= lambda ->
  total n (fun z => surplus lambda (share j g z) (share i f z)) = INR j - INR i - 1 + g + Rmax (1 - lambda * f) 0
  /\ total n (fun z => surplus lambda (share i f z) (share j g z)) = INR j - INR i - f + Rmax (1 - lambda * (1 - g)) 0 * (if (j
    <? n)%nat then 1 else 0).
Proof.
  intros IJ JN G F0 G0 L. assert (Z : forall v, v <= 0 -> Rmax v 0 = 0) by (intros; apply Rmax_right; assumption).
  assert (W : forall v, 0 <= v -> Rmax v 0 = v) by (intros; apply Rmax_left; assumption).
  split.
  - rewrite (total_ext n _ (fun z => share j g z - share (S i) 0 z + unit_at i z * Rmax (1 - lambda * f) 0)).
    + rewrite total_plus, total_minus, (total_share n j g JN G), (total_share n (S i) 0); [|lia|reflexivity].
      rewrite total_unit by lia. rewrite S_INR. ring.
    + intros z _. unfold surplus, share, unit_at.
      destruct (Nat.ltb_spec z i), (Nat.ltb_spec z j), (Nat.ltb_spec z (S i)), (Nat.eqb_spec z i), (Nat.eqb_spec z j),
        (Nat.eqb_spec z (S i)), (Nat.eqb_spec i z); try lia; unfold Rmax; repeat destruct (Rle_dec _ _); nra.
  - rewrite (total_ext n _ (fun z => share j 0 z - share i f z + unit_at j z * Rmax (1 - lambda * (1 - g)) 0)).
    + rewrite total_plus, total_minus, (total_share n j 0 JN (fun _ => eq_refl)), (total_share n i f ltac:(lia) ltac:(lia)).
      destruct (Nat.ltb_spec j n) as [A | A].
      * rewrite total_unit by lia. ring.
      * rewrite (total_ext n (fun z => unit_at j z * Rmax (1 - lambda * (1 - g)) 0) (fun _ => 0)). rewrite total_const. ring.
        intros z Hz. unfold unit_at. destruct (Nat.eqb_spec j z); [lia | ring].
    + intros z _. unfold surplus, share, unit_at.
      destruct (Nat.ltb_spec z i), (Nat.ltb_spec z j), (Nat.eqb_spec z i), (Nat.eqb_spec z j), (Nat.eqb_spec j z); try lia;
        unfold Rmax; repeat destruct (Rle_dec _ _); nra.
Qed.

(** delta of a client whose partner tells the shared number, between the updates at both ends of the interval, in both orders. *)
Theorem CB_A3_partner_star d i f j g A epsilon : (1 <= d)%nat -> 1 < A -> 0 <= epsilon -> 0 <= f < 1 -> 0 <= g < 1 ->
  INR i + f = 2 ^ d * chance A (-1) -> INR j + g = 2 ^ d * chance A 1 ->
  let n := (2 ^ d)%nat in let lambda := exp epsilon in
  let mean (k : nat) (h : R) S := total n (fun z => told S z (share k h z)) / INR n in
  let delta := (INR j - INR i - 1 + g + Rmax (1 - lambda * f) 0) / 2 ^ d in
  is_lub (fun x => exists S, x = mean j g S - lambda * mean i f S) delta /\
  is_lub (fun x => exists S, x = mean i f S - lambda * mean j g S) delta.
Proof.
  intros D HA HE F0 G0 EI EJ n lambda mean delta.
  assert (L : 1 <= lambda) by (unfold lambda; generalize (exp_ineq1_le epsilon); lra).
  assert (IN : INR n = 2 ^ d) by (unfold n; rewrite pow_INR; reflexivity).
  assert (M : 2 ^ d = 2 * INR (2 ^ (d - 1))).
  { replace d with (S (d - 1)) at 1 by lia. rewrite pow_INR. replace (INR 2) with 2 by (simpl; ring). simpl. ring. }
  assert (N : (0 < n)%nat) by apply cells_positive.
  unfold chance in EI, EJ. assert (P : 0 < 2 ^ d) by (apply pow_lt; lra).
  assert (Q : 0 < 2 ^ d * (1 / (2 * A)) < 2 ^ d / 2).
  { split. apply Rmult_lt_0_compat; [exact P | apply Rdiv_lt_0_compat; lra]. unfold Rdiv at 2. apply Rmult_lt_compat_l. exact P.
    apply (Rmult_lt_reg_r (2 * A)). lra. replace (1 / (2 * A) * (2 * A)) with 1 by (field; lra). lra. }
  replace (2 ^ d * (1 / 2 + -1 / (2 * A))) with (2 ^ d / 2 - 2 ^ d * (1 / (2 * A))) in EI by (field; lra).
  replace (2 ^ d * (1 / 2 + 1 / (2 * A))) with (2 ^ d / 2 + 2 ^ d * (1 / (2 * A))) in EJ by (field; lra).
  assert (I1 : (i < 2 ^ (d - 1))%nat) by (apply INR_lt; lra).
  assert (J1 : (2 ^ (d - 1) < S j)%nat) by (apply INR_lt; rewrite S_INR; lra).
  assert (J2 : (j < n)%nat) by (apply INR_lt; lra).
  destruct (surplus_of_levels n i f j g lambda) as [X Y]; try lia; try assumption.
  replace (j <? n)%nat with true in Y by (symmetry; apply Nat.ltb_lt; exact J2).
  split.
  - unfold delta. rewrite <- X, <- IN. apply best_of_told. exact N.
  - (* f + g is a whole number below 2 *)
    assert (K : INR (i + j) + (f + g) = INR n) by (rewrite plus_INR, IN; lra).
    assert (FG : f + g = 0 \/ f + g = 1).
    { assert (C : (i + j = n \/ S (i + j) = n)%nat).
      { assert ((i + j <= n)%nat) by (apply INR_le; lra). assert ((n < S (S (i + j)))%nat) by (apply INR_lt; rewrite !S_INR; lra). lia. }
      destruct C as [C | C]; rewrite <- C in K; rewrite ?S_INR in K; [left | right]; lra. }
    replace delta with (total n (fun z => surplus lambda (share i f z) (share j g z)) / INR n). apply best_of_told. exact N.
    unfold delta. rewrite Y, IN. f_equal. destruct FG as [FG | FG].
    + replace f with 0 by lra. replace g with 0 by lra. rewrite (Rmax_left (1 - lambda * 0)) by lra.
      rewrite (Rmax_right (1 - lambda * (1 - 0))) by lra. ring.
    + replace (1 - g) with f by lra. replace f with (1 - g) at 1 by lra. ring.
Qed.
