(* Collaborative inference: the error of any number of devices, and the scores. *)

From Coq Require Import Reals Lra Lia Psatz List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Model Sums Rows Gaussian Erfc Mass Noise.
Import ListNotations.
Open Scope R_scope.

(* Device k takes part with probability p k (tau k is 1, else 0), and sends w k z k and noise n k,
  or only while it takes part, in r
   coordinates; the receiver adds m / gamma, and D, a matrix of q rows, decodes. *)
Definition noise_share (idle : bool) (t : R) : R := if idle then 1 else t.

Definition decoded (K r : nat) (D : nat -> nat -> R) (w : nat -> R) (z : nat -> nat -> R) (gamma : R) (idle : bool)
  (tau : nat -> R) (n : nat -> nat -> R) (m : nat -> R) (s : nat) : R :=
  total r (fun l => D s l * (total K (fun k => tau k * w k * z k l + noise_share idle (tau k) * n k l) + m l / gamma)).

(* the mean over who takes part, all coordinates of all noises, and those of the receiver, independently;
  N k l and M l are any laws of
   mean 0 and these variances, for instance normal *)
Definition average (K r : nat) (p : nat -> R) (N : nat -> nat -> (R -> R) -> R) (M : nat -> (R -> R) -> R)
  (h : (nat -> R) -> (nat -> nat -> R) -> (nat -> R) -> R) : R :=
  each 0 (fun k => E (coin (p k))) K (fun tau => each (fun _ => 0) (fun k => each 0 (N k) r) K (fun n => each 0 M r
    (fun m => h tau n m))).

Definition image (r : nat) (D : nat -> nat -> R) (v : nat -> R) (s : nat) : R := total r (fun l => D s l * v l).
Definition frobenius (q r : nat) (D : nat -> nat -> R) : R := total q (fun s => total r (fun l => D s l ^ 2)).

Section Mse.
Variables (K r q : nat) (D : nat -> nat -> R) (w p variance : nat -> R) (z : nat -> nat -> R) (gamma floor : R) (idle : bool).
Variables (N : nat -> nat -> (R -> R) -> R) (M : nat -> (R -> R) -> R).
Hypothesis noise_law : forall k l, (k < K)%nat -> (l < r)%nat -> moments 0 (variance k) (N k l).
Hypothesis receiver_law : forall l, (l < r)%nat -> moments 0 floor (M l).

Lemma mse_is (target : nat -> R) :
  average K r p N M (fun tau n m => total q (fun s => (decoded K r D w z gamma idle tau n m s - target s) ^ 2))
  = total q (fun s => (total K (fun k => p k * w k * image r D (z k) s) - target s) ^ 2)
    + total K (fun k => p k * (1 - p k) * w k ^ 2 * total q (fun s => image r D (z k) s ^ 2))
    + (total K (fun k => noise_share idle (p k) * variance k) + floor / gamma ^ 2) * frobenius q r D.
Proof.
unfold average. set (F := frobenius q r D).
set (signal := fun (tau : nat -> R) s => total K (fun k => tau k * w k * image r D (z k) s) - target s).
assert (parts : forall tau n m s, decoded K r D w z gamma idle tau n m s - target s
  = (signal tau s + total K (fun k => total r (fun l => D s l * noise_share idle (tau k) * n k l))) + total r
    (fun l => D s l / gamma * m l)).
{ intros. unfold decoded, signal, image.
  rewrite (total_ext r _ (fun l => total K
    (fun k => tau k * w k * (D s l * z k l) + D s l * noise_share idle (tau k) * n k l) + D s l / gamma * m l)).
  - rewrite total_plus, total_swap. rewrite (total_ext K (fun k => total r _) (fun k => tau k * w k * total r
      (fun l => D s l * z k l)
      + total r (fun l => D s l * noise_share idle (tau k) * n k l))). rewrite total_plus; ring.
    intros k _. rewrite total_plus, total_times. ring.
  - intros l _. rewrite Rmult_plus_distr_l, <- total_times. f_equal; [|unfold Rdiv; ring]. apply total_ext. intros; ring. }
assert (receiver : total r (fun l => floor * total q (fun s => (D s l / gamma) ^ 2)) = floor / gamma ^ 2 * F).
{ unfold F, frobenius. rewrite <- (total_swap r q), <- total_times. apply total_ext. intros l _. rewrite <- !total_times.
  apply total_ext.
  intros s _. unfold Rdiv. rewrite Rpow_mult_distr, pow_inv. ring. }
assert (given : forall tau, each (fun _ => 0) (fun k => each 0 (N k) r) K (fun n => each 0 M r (fun m =>
    total q (fun s => (decoded K r D w z gamma idle tau n m s - target s) ^ 2)))
  = floor / gamma ^ 2 * F + total q (fun s => signal tau s ^ 2) + F * total K
    (fun k => variance k * noise_share idle (tau k) ^ 2)).
{ intros tau.
  transitivity (each (fun _ => 0) (fun k => each 0 (N k) r) K (fun n => floor / gamma ^ 2 * F
    + total q (fun s => (signal tau s + total K (fun k => total r (fun l => D s l * noise_share idle (tau k) * n k l))) ^ 2))).
  - apply each_ext. intros n.
    transitivity (each 0 M r (fun m => 0 + total q (fun s => ((signal tau s + total K (fun k => total r
      (fun l => D s l * noise_share idle (tau k) * n k l)))
      + total r (fun l => D s l / gamma * m l)) ^ 2) + total r (fun l => 0 * m l ^ 2))).
    + apply each_ext. intros m. rewrite (total_times r 0 (fun l => m l ^ 2)).
      rewrite (total_ext q _ (fun s => ((signal tau s + total K (fun k => total r
        (fun l => D s l * noise_share idle (tau k) * n k l)))
        + total r (fun l => D s l / gamma * m l)) ^ 2)) by (intros s _; rewrite parts; reflexivity). ring.
    + rewrite (mean_squares M (fun _ => 0) (fun _ => floor)) by exact receiver_law.
      rewrite <- receiver. rewrite (total_ext r (fun j => floor * _ + _) (fun l => floor * total q
        (fun s => (D s l / gamma) ^ 2))) by (intros; ring).
      rewrite (total_ext q _ (fun s => (signal tau s + total K (fun k => total r
        (fun l => D s l * noise_share idle (tau k) * n k l))) ^ 2)).
      ring. intros s _. rewrite (total_ext r _ (fun _ => 0)) by (intros; ring). rewrite total_const. f_equal. ring.
  - rewrite (mean_squares_vectors N variance) by exact noise_law. f_equal. rewrite <- total_times.
    apply total_ext. intros k _.
    replace (total r _) with (noise_share idle (tau k) ^ 2 * F). ring.
    unfold F, frobenius. rewrite (total_swap r q), <- total_times. apply total_ext. intros s _. rewrite <- total_times.
    apply total_ext. intros; ring. }
assert (coins : forall rest (b : nat -> R),
  each 0 (fun k => E (coin (p k))) K (fun tau => rest + total q (fun s => signal tau s ^ 2) + total K (fun k => b k * tau k ^ 2))
  = rest + total q (fun s => (total K (fun k => p k * w k * image r D (z k) s) - target s) ^ 2)
    + total K (fun k => p k * (1 - p k) * w k ^ 2 * total q (fun s => image r D (z k) s ^ 2)) + total K (fun k => b k * p k)).
{ intros rest b.
  transitivity (each 0 (fun k => E (coin (p k))) K (fun tau => rest
    + total q (fun s => (- target s + total K (fun k => w k * image r D (z k) s * tau k)) ^ 2) + total K
        (fun k => b k * tau k ^ 2))).
  - apply each_ext. intros tau. do 2 f_equal. apply total_ext. intros s _. unfold signal. f_equal. unfold Rminus.
    rewrite Rplus_comm. f_equal.
    apply total_ext. intros; ring.
  - rewrite (mean_squares _ p (fun k => p k * (1 - p k))) by (intros; apply coin_moments).
    rewrite (total_ext q (fun s => (- target s + _) ^ 2) (fun s => (total K
      (fun k => p k * w k * image r D (z k) s) - target s) ^ 2)).
    + rewrite !Rplus_assoc. do 2 f_equal. rewrite <- total_plus. apply total_ext. intros k _.
      rewrite (total_ext q _ (fun s => w k ^ 2 * image r D (z k) s ^ 2)) by (intros; ring). rewrite total_times. ring.
    + intros s _. f_equal. unfold Rminus. rewrite Rplus_comm. f_equal. apply total_ext. intros; ring. }
transitivity (each 0 (fun k => E (coin (p k))) K (fun tau => (floor / gamma ^ 2 * F + (if idle then F * total K variance else 0))
  + total q (fun s => signal tau s ^ 2) + total K (fun k => (if idle then 0 else F * variance k) * tau k ^ 2))).
- apply each_ext. intros tau. rewrite given. unfold noise_share. destruct idle.
  + rewrite (total_ext K (fun k => 0 * _) (fun _ => 0)) by (intros; ring). rewrite total_const.
    rewrite (total_ext K (fun k => variance k * 1 ^ 2) variance) by (intros; ring). ring.
  + rewrite <- total_times. rewrite (total_ext K (fun k => F * (variance k * tau k ^ 2))
      (fun k => F * variance k * tau k ^ 2)) by (intros; ring). ring.
- rewrite coins. unfold noise_share. destruct idle.
  + rewrite (total_ext K (fun k => 0 * _) (fun _ => 0)) by (intros; ring). rewrite total_const.
    rewrite (total_ext K (fun k => 1 * variance k) variance) by (intros; ring). ring.
  + rewrite (total_ext K (fun k => F * variance k * p k) (fun k => F * (p k * variance k))) by (intros; ring).
    rewrite total_times. ring.
Qed.
End Mse.

Section Rows_of_mse.
Variables (K r q : nat) (D : nat -> nat -> R) (w p variance : nat -> R) (gamma floor : R) (idle : bool).
Variables (N : nat -> nat -> (R -> R) -> R) (M : nat -> (R -> R) -> R).
Hypothesis noise_law : forall k l, (k < K)%nat -> (l < r)%nat -> moments 0 (variance k) (N k l).
Hypothesis receiver_law : forall l, (l < r)%nat -> moments 0 floor (M l).

(* the mean squared error of codes z, for the mean of the features f *)
Definition mse (z f : nat -> nat -> R) : R := average K r p N M (fun tau n m =>
  total q (fun s => (decoded K r D w z gamma idle tau n m s - total K (fun k => f k s) / INR K) ^ 2)).

Theorem FDP_MSE_star (z f : nat -> nat -> R) : mse z f
  = total q (fun s => (total K (fun k => p k * w k * image r D (z k) s) - total K (fun k => f k s) / INR K) ^ 2)
    + total K (fun k => p k * (1 - p k) * w k ^ 2 * total q (fun s => image r D (z k) s ^ 2))
    + (total K (fun k => noise_share idle (p k) * variance k) + floor / gamma ^ 2) * frobenius q r D.
Proof. apply mse_is; assumption. Qed.

(* the code of a feature, of q coordinates, cut to the length C *)
Definition clipped (C : R) (W : nat -> nat -> R) (f : nat -> R) (l : nat) : R :=
  Rmin 1 (C / size r (image q W f)) * image q W f l.

Lemma clipped_size C W f : 0 <= C -> size r (clipped C W f) <= Rmin C (size r (image q W f)).
Proof.
intros HC. set (u := image q W f). generalize (size_positive r u). intros P.
assert (Z : 0 <= Rmin 1 (C / size r u) \/ size r u = 0).
{ destruct (Rle_lt_or_eq_dec _ _ P) as [L|L]; [left | right; symmetry; exact L].
  apply Rmin_case; [lra | apply Rdiv_le_0_compat; assumption]. }
assert (S : size r (clipped C W f) = Rabs (Rmin 1 (C / size r u)) * size r u).
{ unfold clipped. fold u. set (c := Rmin 1 _). unfold size at 1. rewrite dot_times, dot_right_times, <- Rmult_assoc.
  rewrite sqrt_mult_alt by nra. change (c * c) with (Rsqr c). rewrite sqrt_Rsqr_abs. reflexivity. }
rewrite S. destruct (Rle_lt_or_eq_dec _ _ P) as [L|L].
- destruct Z as [Z|Z]; [|lra]. rewrite Rabs_pos_eq by exact Z. apply Rmin_glb.
  + apply Rle_trans with (C / size r u * size r u). apply Rmult_le_compat_r. exact P. apply Rmin_r. right; field; lra.
  + apply Rle_trans with (1 * size r u). apply Rmult_le_compat_r. exact P. apply Rmin_l. lra.
- rewrite <- L, Rmult_0_r. apply Rmin_case; lra.
Qed.

(* D2 and W2 k are at least the spectral norms *)
Theorem FDP_MSE_star_star (W : nat -> nat -> nat -> R) (f : nat -> nat -> R) (C : nat -> R) (D2 : R) (W2 : nat -> R) :
  (forall k, (k < K)%nat -> 0 <= C k /\ 0 <= p k <= 1) ->
  0 <= D2 -> (forall v, size q (image r D v) <= D2 * size r v) ->
  (forall k v, (k < K)%nat -> size r (image q (W k) v) <= W2 k * size q v) ->
  let z k := clipped (C k) (W k) (f k) in
  mse z f <= total K (fun k => size q (fun s => p k * w k * image r D (z k) s - f k s / INR K)) ^ 2
    + total K (fun k => p k * (1 - p k) * w k ^ 2 * D2 ^ 2 * Rmin (C k) (W2 k * size q (f k)) ^ 2)
    + (total K (fun k => noise_share idle (p k) * variance k) + floor / gamma ^ 2) * frobenius q r D.
Proof.
intros H PD HD HW z. rewrite FDP_MSE_star. apply Rplus_le_compat_r. apply Rplus_le_compat.
- set (d := fun k s => p k * w k * image r D (z k) s - f k s / INR K).
  rewrite (total_ext q _ (fun s => total K (fun k => d k s) * total K (fun k => d k s))).
  + change (dot q (fun s => total K (fun k => d k s)) (fun s => total K (fun k => d k s)) <= total K (fun k => size q (d k)) ^ 2).
    rewrite <- size_square. generalize (size_total q K d) (size_positive q (fun s => total K (fun k => d k s))). intros A B.
    rewrite <- Rsqr_pow2. apply Rsqr_incr_1; [exact A | exact B | lra].
  + intros s _. unfold d. rewrite total_minus. unfold Rdiv.
    rewrite (total_ext K (fun k => f k s * / INR K) (fun k => / INR K * f k s)) by (intros; ring). rewrite total_times. ring.
- apply total_le. intros k Hk. destruct (H k Hk) as (HC & HP).
  rewrite !(Rmult_assoc (p k * (1 - p k) * w k ^ 2)). apply Rmult_le_compat_l.
  { apply Rmult_le_pos; [|apply pow2_ge_0]. apply Rmult_le_pos; lra. }
  apply Rle_trans with (size q (image r D (z k)) ^ 2).
  + right. replace (size q (image r D (z k)) ^ 2) with (size q (image r D (z k)) * size q (image r D (z k))) by ring.
    rewrite size_square. apply total_ext. intros; ring.
  + rewrite <- Rpow_mult_distr. apply pow_incr. split. apply size_positive.
    apply Rle_trans with (1 := HD (z k)). apply Rmult_le_compat_l. exact PD.
    apply Rle_trans with (1 := clipped_size (C k) (W k) (f k) HC). apply Rle_min_compat_l, HW, Hk.
Qed.

(* the mean squared length of the decoded noise *)
Definition decoded_noise : R := average K r p N M (fun tau n m =>
  total q (fun s => decoded K r D w (fun _ _ => 0) gamma idle tau n m s ^ 2)).

Lemma decoded_noise_is :
  decoded_noise = (total K (fun k => noise_share idle (p k) * variance k) + floor / gamma ^ 2) * frobenius q r D.
Proof.
assert (Z : forall s, image r D (fun _ => 0) s = 0).
{ intros s. unfold image. rewrite (total_ext r _ (fun _ => 0)) by (intros; ring). rewrite total_const. ring. }
generalize (mse_is K r q D w p variance (fun _ _ => 0) gamma floor idle N M noise_law receiver_law (fun _ => 0)).
rewrite (total_ext q (fun s => (_ - 0) ^ 2) (fun _ => 0)).
2: { intros s _. rewrite (total_ext K _ (fun _ => 0)) by (intros; rewrite Z; ring). rewrite total_const. ring. }
rewrite total_const. rewrite (total_ext K (fun k => p k * (1 - p k) * w k ^ 2 * _) (fun _ => 0)).
2: { intros k _. rewrite (total_ext q _ (fun _ => 0)) by (intros; rewrite Z; ring). rewrite total_const. ring. }
rewrite total_const, !Rmult_0_r, !Rplus_0_l. intros <-. unfold decoded_noise, average. do 2 (apply each_ext; intros ?).
apply each_ext. intros m.
apply total_ext. intros s _. f_equal. ring.
Qed.

Theorem FDP_E28_noise : (1 <= q)%nat -> 0 <= floor -> (forall k, (k < K)%nat -> 0 <= p k /\ 0 <= variance k) ->
  decoded_noise <= INR q * frobenius q r D * (total K (fun k => noise_share idle (p k) * variance k) + floor / gamma ^ 2).
Proof.
intros Q HF H. rewrite decoded_noise_is. rewrite (Rmult_comm (_ + _)).
assert (0 <= frobenius q r D) by (repeat (apply total_positive; intros); apply pow2_ge_0).
assert (0 <= total K (fun k => noise_share idle (p k) * variance k) + floor / gamma ^ 2).
{ apply Rplus_le_le_0_compat.
  - apply total_positive. intros k Hk. destruct (H k Hk). apply Rmult_le_pos; [|assumption]. unfold noise_share.
    destruct idle; lra.
  - apply Rmult_le_pos. exact HF. destruct (Req_dec gamma 0) as [-> | G].
    + simpl. rewrite Rmult_0_l, Rinv_0. lra.
    + left. apply Rinv_0_lt_compat. rewrite <- Rsqr_pow2. apply Rsqr_pos_lt, G. }
apply le_INR in Q. simpl (INR 1) in Q. apply Rmult_le_compat_r. assumption. nra.
Qed.

(* footnote 3; D keeps lengths *)
Theorem FDP_fn3 p0 variance0 : idle = false -> (forall k, (k < K)%nat -> p k = p0 /\ variance k = variance0) ->
  (forall l l', (l < r)%nat -> (l' < r)%nat -> total q (fun s => D s l * D s l') = unit_at l l') ->
  decoded_noise = INR r * (INR K * p0 * variance0 + floor / gamma ^ 2).
Proof.
intros I H O. rewrite decoded_noise_is, I.
assert (F : frobenius q r D = INR r).
{ unfold frobenius. rewrite total_swap. rewrite (total_ext r _ (fun _ => 1)). rewrite total_const; ring.
  intros l Hl. rewrite (total_ext q _ (fun s => D s l * D s l)) by (intros; ring). rewrite O by assumption.
  unfold unit_at. rewrite Nat.eqb_refl. reflexivity. }
rewrite F, (total_ext K _ (fun _ => p0 * variance0)).
- rewrite total_const. ring.
- intros k Hk. destruct (H k Hk) as (-> & ->). reflexivity.
Qed.
End Rows_of_mse.

(* FDP-A2*: one coordinate, encoder and decoder 1, equal features, weights 1 / (K p) and noise in proportion to them *)
Theorem FDP_A2_star K p f s gamma floor N M : (0 < K)%nat -> p <> 0 ->
  let w := / (INR K * p) in
  (forall k, (k < K)%nat -> moments 0 ((s * w) ^ 2) (N k 0%nat)) -> moments 0 floor (M 0%nat) ->
  mse K 1 1 (fun _ _ => 1) (fun _ => w) (fun _ => p) gamma false N M (fun _ _ => f) (fun _ _ => f)
  = / INR K * (((1 - p) * f ^ 2 + s ^ 2) / p) + floor / gamma ^ 2.
Proof.
intros HK HP w HN HM. assert (P : INR K <> 0) by (apply not_0_INR; lia).
rewrite (FDP_MSE_star K 1 1 _ _ _ (fun _ => (s * w) ^ 2) gamma floor).
- unfold frobenius, image, noise_share. cbn [total]. rewrite !total_const. unfold w, Rdiv.
  rewrite !Rplus_0_l, !Rmult_1_l, pow1, Rmult_1_r.
  replace (INR K * (p * / (INR K * p) * f) - INR K * f * / INR K) with 0 by (field; split; assumption).
  rewrite pow_i, Rplus_0_l by lia. set (g := floor * / gamma ^ 2). clearbody g. field. split; assumption.
- intros k l Hk Hl. replace l with 0%nat by lia. apply HN, Hk.
- intros l Hl. replace l with 0%nat by lia. exact HM.
Qed.

(* FDP-E17: the probability that a normal score u + N(0, s^2) is at most eta is that of N(0, 1) for (eta - u) / s *)
Theorem FDP_E17 u s eta : 0 < s -> let Phi := 1 - tail ((eta - u) / s) in
  is_lim (fun B => RInt n (- B) ((eta - u) / s)) p_infty Phi /\ is_lim (fun B => RInt (normal u s) (- B) eta) p_infty Phi.
Proof.
intros S Phi.
assert (L : forall a b, 0 < a -> is_lim (fun B => RInt n (a * - B + b) ((eta - u) / s)) p_infty Phi).
{ intros a b A. apply (is_lim_ext (fun B => 1 - tail (a * B + - b) - tail ((eta - u) / s))).
  - intros B. generalize (tail_split (a * - B + b) ((eta - u) / s)).
    replace (a * - B + b) with (- (a * B + - b)) at 1 by ring. rewrite tail_reflected. lra.
  - unfold Phi. replace (Finite (1 - tail ((eta - u) / s))) with (Finite (1 - 0 - tail ((eta - u) / s))) by (f_equal; ring).
    apply is_lim_minus'; [|apply is_lim_const]. apply is_lim_minus'; [apply is_lim_const | apply tail_far; exact A]. }
split.
- apply (is_lim_ext (fun B => RInt n (1 * - B + 0) ((eta - u) / s))); [|apply L; lra]. intros B. f_equal. ring.
- apply (is_lim_ext (fun B => RInt n (/ s * - B + - u / s) ((eta - u) / s))); [|apply L, Rinv_0_lt_compat, S].
  intros B. replace ((eta - u) / s) with (/ s * eta + - u / s) by (field; lra).
  rewrite <- (RInt_comp_lin n (/ s) (- u / s) (- B) eta (n_integrable _ _)).
  apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl. unfold normal.
  replace (/ s * x + - u / s) with ((x - u) / s) by (field; lra). field. lra.
Qed.

Lemma image_at_most q r D u : dot q (image r D u) (image r D u) <= frobenius q r D * dot r u u.
Proof.
unfold frobenius, dot at 1. rewrite Rmult_comm, <- total_times. apply total_le. intros s _.
replace (total r (fun l => D s l ^ 2)) with (dot r (D s) (D s)) by (apply total_ext; intros; ring).
rewrite (Rmult_comm (dot r u u)). exact (cauchy_square r (D s) u).
Qed.

Lemma pairs K (a : nat -> nat -> R) : (forall k j, a k j = a j k) ->
  total K (fun k => total K (fun j => a k j)) = total K (fun k => a k k) + 2 * total K (fun j => total j (fun k => a k j)).
Proof.
intros S. induction K as [|K IH]; simpl; [ring|]. rewrite total_plus, IH.
rewrite (total_ext K (fun j => a K j) (fun j => a j K)) by (intros; apply S). ring.
Qed.

Section Printed.
Variables (K r q : nat) (D : nat -> nat -> R) (p variance : nat -> R) (W : nat -> nat -> nat -> R) (f : nat -> nat ->
  R) (gamma floor : R).

Definition through (k : nat) : nat -> R := image r D (image q (W k) (f k)).  (* b_k *)
Definition own (k : nat) : R := frobenius q r D * frobenius r q (W k) * dot q (f k) (f k).  (* G_k *)

(* the bound of the MSE of Sec. IV, as printed *)
Definition printed (w : nat -> R) : R :=
  INR q * frobenius q r D * (total K (fun k => p k * variance k) + floor / gamma ^ 2)
  + total K (fun k => (w k ^ 2 * p k - 2 * w k * p k + 1) * own k)
  + total K (fun j => total j (fun k => (p k * p j * w k * w j - p k * w k - p j * w j + 1) * dot q (through k) (through j))).

(* v^T (P Gram P + diagonal) v *)
Definition curvature (v : nat -> R) : R :=
  total K (fun k => total K (fun j => p k * p j * dot q (through k) (through j) * v k * v j))
  + total K (fun k => (2 * p k * own k - p k ^ 2 * dot q (through k) (through k)) * v k ^ 2).

Lemma through_at_most k : dot q (through k) (through k) <= own k.
Proof.
unfold own. rewrite Rmult_assoc. apply Rle_trans with (1 := image_at_most q r D _). apply Rmult_le_compat_l.
repeat (apply total_positive; intros); apply pow2_ge_0. apply image_at_most.
Qed.

Theorem FDP_P38 (w v : nat -> R) : (forall k, (k < K)%nat -> 0 <= p k <= 1) ->
  (exists slope, forall t, printed (fun k => w k + t * v k) = printed w + t * slope + t ^ 2 / 2 * curvature v)
  /\ (forall least, (forall k, (k < K)%nat -> least <= p k * (2 - p k) * own k) ->
    least * total K (fun k => v k ^ 2) <= curvature v)
  /\ (forall k, (k < K)%nat -> 0 <= p k * (2 - p k) * own k).
Proof.
intros P. split; [|split].
- exists (total K (fun k => (2 * w k * p k - 2 * p k) * v k * own k) + total K (fun j => total j (fun k =>
    (p k * p j * (w k * v j + v k * w j) - p k * v k - p j * v j) * dot q (through k) (through j)))).
  intros t. unfold curvature. rewrite pairs by (intros k j; rewrite (dot_sym q (through k)); ring). unfold printed.
  rewrite (total_ext K (fun k => ((w k + t * v k) ^ 2 * p k - 2 * (w k + t * v k) * p k + 1) * own k)
    (fun k => (w k ^ 2 * p k - 2 * w k * p k + 1) * own k + t * ((2 * w k * p k - 2 * p k) * v k * own k)
      + t ^ 2 * (p k * own k * v k ^ 2)))
    by (intros; ring).
  rewrite (total_ext K (fun j => total j (fun k => (p k * p j * (w k + t * v k) * (w j + t * v j) - _ - _ + 1) * _))
    (fun j => total j (fun k => (p k * p j * w k * w j - p k * w k - p j * w j + 1) * dot q (through k) (through j))
      + t * total j (fun k => (p k * p j * (w k * v j + v k * w j) - p k * v k - p j * v j) * dot q (through k) (through j))
      + t ^ 2 * total j (fun k => p k * p j * dot q (through k) (through j) * v k * v j))).
  2: { intros j _. rewrite <- !total_times, <- !total_plus. apply total_ext. intros; ring. }
  rewrite (total_ext K (fun k => (2 * p k * own k - p k ^ 2 * dot q (through k) (through k)) * v k ^ 2)
    (fun k => 2 * (p k * own k * v k ^ 2) - p k * p k * dot q (through k) (through k) * v k * v k)) by (intros; ring).
  rewrite !total_plus, total_minus, !total_times. set (g := floor / gamma ^ 2). clearbody g. field.
- intros least H. unfold curvature.
  assert (0 <= total K (fun k => total K (fun j => p k * p j * dot q (through k) (through j) * v k * v j))).
  { apply Rle_trans with (1 := dot_self q (fun s => total K (fun k => p k * v k * through k s))). right.
    rewrite dot_total. apply total_ext. intros k _. rewrite dot_sym, dot_total. apply total_ext. intros j _.
    rewrite dot_times, dot_right_times. ring. }
  apply Rle_trans with (total K (fun k => (2 * p k * own k - p k ^ 2 * dot q (through k) (through k)) * v k ^ 2)); [|lra].
  rewrite <- total_times. apply total_le. intros k Hk. apply Rmult_le_compat_r. apply pow2_ge_0.
  apply Rle_trans with (1 := H k Hk). generalize (through_at_most k) (pow2_ge_0 (p k)). nra.
- intros k Hk. generalize (P k Hk) (through_at_most k) (dot_self q (through k)). intros A B C.
  apply Rmult_le_pos; [apply Rmult_le_pos|]; lra.
Qed.
End Printed.
