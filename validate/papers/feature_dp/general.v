(* Collaborative inference: the error of any number of devices, sums of independent variables, entropies. *)

From Coq Require Import Reals Lra Lia Psatz List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Airtight Require Import Model Sums Rows Gaussian Erfc Mass Noise Classical.
Import ListNotations.
Open Scope R_scope.

(* The mean under N(0, s^2), s > 0, is such a law. *)
Definition normal_mean (s : R) (f : R -> R) : R := real (Lim (fun B => RInt (fun x => f x * normal 0 s x) (- B) B) p_infty).

Lemma vanishes : is_lim (fun B => B * n B) p_infty 0.
Proof.
apply (is_lim_le_le_loc (fun _ => 0) (fun B => 2 / sqrt (2 * PI) * / B)).
- exists 0. intros B H. generalize (n_positive B) root_positive. intros P R. split. apply Rmult_le_pos; lra.
  unfold n. assert (E : exp (- (B * B / 2)) <= 2 / (B * B)).
  { rewrite exp_Ropp. replace (2 / (B * B)) with (/ (B * B / 2)) by (field; lra). apply Rinv_le_contravar.
    apply Rdiv_lt_0_compat; nra. generalize (exp_ineq1_le (B * B / 2)). lra. }
  apply Rle_trans with (B * (2 / (B * B) / sqrt (2 * PI))).
  + apply Rmult_le_compat_l. lra. apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat, R. exact E.
  + right. field. lra.
- apply is_lim_const.
- replace (Finite 0) with (Rbar_mult (2 / sqrt (2 * PI)) 0) by (simpl; f_equal; ring).
  apply (is_lim_scal_l (fun B => / B) _ p_infty 0). apply (is_lim_inv (fun B => B) p_infty p_infty). apply is_lim_id.
  discriminate.
Qed.

Lemma normal_moments s : 0 < s -> moments 0 (s ^ 2) (normal_mean s).
Proof.
intros S a b c. unfold normal_mean. rewrite (is_lim_unique _ _ (a + b * 0 + c * (0 ^ 2 + s ^ 2))); [reflexivity|].
assert (D : forall x, is_derive (fun x => - (b * s + c * s * s * x) * n x) x ((- c * s * s + (b * s + c * s * s * x) * x) * n x)).
{ intros x. replace ((- c * s * s + (b * s + c * s * s * x) * x) * n x) with
    (- (c * s * s) * n x + - (b * s + c * s * s * x) * (- x * n x)) by ring.
  apply (is_derive_mult (fun x => - (b * s + c * s * s * x)) n); [|apply n_derive | intros; apply Rmult_comm].
  auto_derive; [trivial | ring]. }
assert (I : forall B, RInt (fun x => (a + b * x + c * x ^ 2) * normal 0 s x) (- B) B
  = (a + c * s ^ 2) * RInt n (/ s * - B + 0) (/ s * B + 0) - 2 * (c * s * s) * (/ s * B * n (/ s * B))).
{ intros B.
  assert (C : is_RInt (fun x => (- c * s * s + (b * s + c * s * s * x) * x) * n x) (/ s * - B + 0) (/ s * B + 0)
    (minus (- (b * s + c * s * s * (/ s * B + 0)) * n (/ s * B + 0)) (- (b * s + c * s * s * (/ s * - B
      + 0)) * n (/ s * - B + 0)))).
  { apply (is_RInt_derive (V := R_CompleteNormedModule) (fun x => - (b * s + c * s * s * x) * n x)). intros x _. apply D.
    intros x _. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). unfold n. auto_derive.
    generalize root_positive; lra. }
  transitivity (RInt (fun x => scal (/ s) ((fun y => (a + c * s ^ 2) * n y + (- c * s * s + (b * s
    + c * s * s * y) * y) * n y) (/ s * x + 0))) (- B) B).
  - apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl. unfold normal.
    replace (/ s * x + 0) with ((x - 0) / s) by (field; lra). field. lra.
  - rewrite (RInt_comp_lin (fun y => (a + c * s ^ 2) * n y + (- c * s * s + (b * s + c * s * s * y) * y) * n y)).
    + rewrite (RInt_plus (V := R_CompleteNormedModule) (fun y => (a + c * s ^ 2) * n y)), scaled, (is_RInt_unique _ _ _ _ C).
      * unfold plus, minus, plus, opp; simpl. rewrite !Rplus_0_r. replace (/ s * - B) with (- (/ s * B)) by ring.
        rewrite n_even. field. lra.
      * apply n_integrable.
      * apply (ex_RInt_scal (V := R_NormedModule) n). apply n_integrable.
      * eexists; exact C.
    + apply (ex_RInt_plus (V := R_NormedModule) (fun y => (a + c * s ^ 2) * n y)); [|eexists; exact C].
      apply (ex_RInt_scal (V := R_NormedModule) n). apply n_integrable. }
apply (is_lim_ext (fun B => (a + c * s ^ 2) * RInt n (/ s * - B + 0) (/ s * B
  + 0) - 2 * (c * s * s) * (/ s * B * n (/ s * B)))). intros; symmetry; apply I.
assert (Q : 0 < / s) by (apply Rinv_0_lt_compat, S).
replace (Finite (a + b * 0 + c * (0 ^ 2 + s ^ 2))) with (Finite ((a + c * s ^ 2) * 1 - 2 * (c * s * s) * 0)) by (f_equal; ring).
apply is_lim_minus'.
- apply (is_lim_scal_l _ (a + c * s ^ 2) p_infty 1). apply between_limit. exact Q.
- apply (is_lim_scal_l _ (2 * (c * s * s)) p_infty 0). apply (is_lim_ext (fun B => (fun y => y * n y) (/ s * B + 0))).
  intros B. rewrite Rplus_0_r. reflexivity.
  apply (is_lim_comp_lin (fun y => y * n y) (/ s) 0 p_infty 0); [|lra].
  replace (Rbar_plus (Rbar_mult (/ s) p_infty) 0) with p_infty. apply vanishes.
  simpl. destruct (Rle_dec 0 (/ s)) as [P|P]; [|lra]. destruct (Rle_lt_or_eq_dec 0 (/ s) P); [reflexivity | lra].
Qed.

(* Device k takes part with probability p k (tau k is 1, else 0), and sends w k z k and noise n k, or only while it takes
   part, in r coordinates; the receiver adds m / gamma, and D, a matrix of q rows, decodes. *)
Definition noise_share (idle : bool) (t : R) : R := if idle then 1 else t.

Definition decoded (K r : nat) (D : nat -> nat -> R) (w : nat -> R) (z : nat -> nat -> R) (gamma : R) (idle : bool)
  (tau : nat -> R) (n : nat -> nat -> R) (m : nat -> R) (s : nat) : R :=
  total r (fun l => D s l * (total K (fun k => tau k * w k * z k l + noise_share idle (tau k) * n k l) + m l / gamma)).

(* the mean over who takes part, all coordinates of all noises, and those of the receiver, independently; N k l and M l are
   any laws of mean 0 and these variances, for instance normal *)
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

(* Finite laws of independent variables *)
Definition finite_law {B : Type} (l : law B) : Prop := (forall p b, In (p, b) l -> 0 <= p) /\ E l (fun _ => 1) = 1.

Lemma E_le {B : Type} (l : law B) f g : (forall p b, In (p, b) l -> 0 <= p /\ f b <= g b) -> E l f <= E l g.
Proof.
induction l as [|(p, b) l IH]; simpl; intros H. lra. destruct (H p b (or_introl eq_refl)) as (P & Q).
apply Rplus_le_compat. apply Rmult_le_compat_l; assumption. apply IH. intros; apply H; right; assumption.
Qed.

Lemma E_times {B : Type} (l : law B) c f : E l (fun b => c * f b) = c * E l f.
Proof. induction l as [|(p, b) l IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma E_plus {B : Type} (l : law B) f g : E l (fun b => f b + g b) = E l f + E l g.
Proof. induction l as [|(p, b) l IH]; simpl; [ring | rewrite IH; ring]. Qed.

(* the mean over n independent variables *)
Definition over (n : nat) (l : nat -> law R) : ((nat -> R) -> R) -> R := each 0 (fun k => E (l k)) n.

Lemma over_le n l h h' : (forall k, (k < n)%nat -> finite_law (l k)) -> (forall u, h u <= h' u) -> over n l h <= over n l h'.
Proof.
unfold over. revert h h'. induction n as [|n IH]; intros h h' L H; cbn [each]. apply H.
apply E_le. intros p x I. split; [apply (proj1 (L n ltac:(lia)) p x I)|]. apply IH; [intros; apply L; lia | intros; apply H].
Qed.

Lemma exponential_mean n l a b : (forall k, (k < n)%nat -> finite_law (l k)) ->
  (forall k, (k < n)%nat -> E (l k) (fun x => exp (a * x)) <= exp (b k)) ->
  forall c, 0 <= c -> over n l (fun X => c * exp (a * total n X)) <= c * exp (total n b).
Proof.
unfold over. induction n as [|n IH]; intros L H c C; cbn [each].
- simpl. rewrite Rmult_0_r. lra.
- apply Rle_trans with (E (l n) (fun x => c * exp (total n b) * exp (a * x))).
  + apply E_le. intros p x I. split; [apply (proj1 (L n ltac:(lia)) p x I)|].
    rewrite (each_ext 0 _ n _ (fun u => c * exp (a * x) * exp (a * total n u))).
    * apply Rle_trans with (c * exp (a * x) * exp (total n b)); [|right; ring].
      apply IH; [intros; apply L; lia | intros; apply H; lia | apply Rmult_le_pos; [exact C | left; apply exp_pos]].
    * intros u. replace (total (S n) (set u n x)) with (total n u + x) by (symmetry; apply (set_total n u x (fun _ y => y))).
      rewrite Rmult_plus_distr_l, exp_plus. ring.
  + rewrite E_times. simpl total. rewrite exp_plus, <- Rmult_assoc.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; [exact C | left; apply exp_pos] | apply H; lia].
Qed.

(* e^y - 1 - y is at most y^2 / (2 (1 - y / 3)), and for negative y at most y^2 / 2: both sides are compared by their slopes *)
Lemma from_zero (f df : R -> R) y : 0 <= y -> (forall u, 0 <= u <= y -> is_derive f u (df u) /\ 0 <= df u) -> f 0 <= f y.
Proof.
intros Y H. destruct (Req_dec y 0) as [->|N]; [lra|].
destruct (MVT_gen f 0 y df) as (c & (C0 & C1) & C).
- rewrite Rmin_left, Rmax_right by lra. intros u U. apply H. lra.
- rewrite Rmin_left, Rmax_right by lra. intros u U. apply continuity_pt_filterlim.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). exists (df u). apply H. lra.
- rewrite Rmin_left in C0 by lra. rewrite Rmax_right in C1 by lra. destruct (H c ltac:(lra)) as (_ & D). nra.
Qed.

Lemma exp_below y b : y <= b -> 0 <= b < 3 -> exp y <= 1 + y + y ^ 2 / (2 * (1 - b / 3)).
Proof.
intros Y B. destruct (Rle_lt_dec 0 y) as [P|P].
- apply Rle_trans with (1 + y + y ^ 2 / (2 * (1 - y / 3))).
  + set (f := fun u => (1 + u + u ^ 2 / (2 * (1 - u / 3))) * exp (- u)).
    assert (F : f 0 <= f y).
    { apply (from_zero f (fun u => u ^ 3 / (2 * (3 - u) ^ 2) * exp (- u)) y P). intros u U. split.
      - unfold f. auto_derive. lra. field. lra.
      - apply Rmult_le_pos; [|left; apply exp_pos]. apply Rdiv_le_0_compat. apply pow_le; lra.
        apply Rmult_lt_0_compat; [lra | apply pow_lt; lra]. }
    unfold f in F. replace (- 0) with 0 in F by ring. rewrite exp_0 in F.
    replace ((1 + 0 + 0 ^ 2 / (2 * (1 - 0 / 3))) * 1) with 1 in F by field.
    apply (Rmult_le_compat_r (exp y)) in F; [|left; apply exp_pos]. rewrite Rmult_assoc, <- exp_plus in F.
    replace (- y + y) with 0 in F by ring. rewrite exp_0 in F. lra.
  + apply Rplus_le_compat_l. apply Rmult_le_compat_l. apply pow2_ge_0. apply Rinv_le_contravar; lra.
- apply Rle_trans with (1 + y + y ^ 2 / 2).
  + set (u := - y). assert (U : 0 <= u) by (unfold u; lra). replace y with (- u) by (unfold u; ring). clearbody u.
    assert (F : (fun u => 1 - u + u ^ 2 / 2 - exp (- u)) 0 <= (fun u => 1 - u + u ^ 2 / 2 - exp (- u)) u).
    { apply (from_zero (fun u => 1 - u + u ^ 2 / 2 - exp (- u)) (fun u => -1 + u + exp (- u)) u U). intros v V. split.
      - auto_derive; [trivial | field].
      - generalize (exp_ineq1_le (- v)). lra. }
    cbv beta in F. replace (- 0) with 0 in F by ring. rewrite exp_0 in F. replace ((- u) ^ 2) with (u ^ 2) by ring. lra.
  + apply Rplus_le_compat_l. unfold Rdiv. apply Rmult_le_compat_l. apply pow2_ge_0. apply Rinv_le_contravar; lra.
Qed.

(* the probability that a sum of n independent variables with these laws is at least t *)
Definition at_least (n : nat) (l : nat -> law R) (t : R) : R := over n l (fun X => if Rle_dec t (total n X) then 1 else 0).

(* independent, of mean 0, within M of it *)
Theorem FDP_L3_star n (l : nat -> law R) M t : 0 < M -> 0 <= t ->
  (forall k, (k < n)%nat -> finite_law (l k) /\ E (l k) (fun x => x) = 0 /\ forall p x, In (p, x) (l k) -> Rabs x <= M) ->
  let V := total n (fun k => E (l k) (fun x => x ^ 2)) in
  at_least n l t <= exp (- (t ^ 2 / 2 / (V + M * t / 3))).
Proof.
intros HM T H V.
assert (PV : 0 <= V).
{ apply total_positive. intros k Hk. destruct (H k Hk) as ((P & _) & _ & _).
  apply Rle_trans with (E (l k) (fun _ => 0)). right. clear.
  induction (l k) as [|(p, b) m IH]; simpl; [reflexivity | rewrite <- IH; ring].
  apply E_le. intros p b I. split; [apply (P p b I) | apply pow2_ge_0]. }
assert (markov : forall a, 0 <= a < 3 / M -> at_least n l t <= exp (- a * t + a ^ 2 * V / (2 * (1 - a * M / 3)))).
{ intros a A. assert (AM : a * M < 3). { destruct A as (_ & A). apply (Rmult_lt_compat_r M) in A; [|exact HM].
  replace (3 / M * M) with 3 in A by (field; lra). exact A. }
  unfold at_least. apply Rle_trans with (over n l (fun X => exp (- a * t) * exp (a * total n X))).
  - apply over_le. intros k Hk; apply (H k Hk). intros X. rewrite <- exp_plus.
    replace (- a * t + a * total n X) with (a * (total n X - t)) by ring. destruct (Rle_dec t (total n X)) as [L|L].
    + generalize (exp_ineq1_le (a * (total n X - t))). assert (0 <= a * (total n X - t)) by (apply Rmult_le_pos; lra). lra.
    + left. apply exp_pos.
  - rewrite exp_plus. replace (a ^ 2 * V / (2 * (1 - a * M / 3))) with
      (total n (fun k => a ^ 2 / (2 * (1 - a * M / 3)) * E (l k) (fun x => x ^ 2)))
      by (rewrite total_times; unfold V; field; lra).
    apply exponential_mean; [intros k Hk; apply (H k Hk) | | left; apply exp_pos].
    intros k Hk. destruct (H k Hk) as ((P & One) & Mean & Bound). set (c := a ^ 2 / (2 * (1 - a * M / 3))).
    apply Rle_trans with (E (l k) (fun x => 1 + (a * x + c * x ^ 2))).
    + apply E_le. intros p x I. split; [apply (P p x I)|].
      assert (X : a * x <= a * M) by (apply Rmult_le_compat_l; [lra | apply Rle_trans with (1 := Rle_abs x), (Bound p x I)]).
      apply Rle_trans with (1 := exp_below (a * x) (a * M) X ltac:(split; [apply Rmult_le_pos|]; lra)). right. unfold c.
      field. lra.
    + rewrite E_plus, One, E_plus, !E_times, Mean. rewrite Rmult_0_r, Rplus_0_l. apply exp_ineq1_le. }
destruct (Req_dec t 0) as [->|N].
{ apply Rle_trans with (1 := markov 0 ltac:(split; [lra | apply Rdiv_lt_0_compat; lra])). right. f_equal. unfold Rdiv. ring. }
assert (T' : 0 < t) by lra. assert (MT : 0 < M * t / 3) by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra).
destruct (Req_dec V 0) as [Z|Z].
- apply Rle_trans with (1 := markov (3 / (2 * M)) ltac:(split; [left; apply Rdiv_lt_0_compat | apply Rmult_lt_compat_l;
    [|apply Rinv_lt_contravar]]; nra)).
  right. f_equal. rewrite Z. field. lra.
- set (a := t / (V + M * t / 3)). assert (A : 0 <= a < 3 / M).
  { split. apply Rdiv_le_0_compat; lra. apply (Rmult_lt_reg_r (M * (V + M * t / 3))). nra.
    unfold a. replace (t / (V + M * t / 3) * (M * (V + M * t / 3))) with (t * M) by (field; lra).
    replace (3 / M * (M * (V + M * t / 3))) with (3 * V + t * M) by (field; lra). lra. }
  apply Rle_trans with (1 := markov a A). right. f_equal. unfold a. field. repeat split; nra.
Qed.

Lemma over_plus n l h h' : over n l (fun u => h u + h' u) = over n l h + over n l h'.
Proof.
unfold over. revert h h'. induction n as [|n IH]; intros h h'; cbn [each]. reflexivity. rewrite <- E_plus. f_equal.
apply functional_extensionality. intros x. apply (IH (fun u => h (set u n x)) (fun u => h' (set u n x))).
Qed.

(* functions of who takes part, as independent variables *)
Lemma over_coins n p (phi : nat -> R -> R) h : each 0 (fun k => E (coin (p k))) n (fun tau => h (total n
  (fun k => phi k (tau k))))
  = over n (fun k => [(p k, phi k 1); (1 - p k, phi k 0)]) (fun X => h (total n X)).
Proof.
unfold over. revert h. induction n as [|n IH]; intros h; cbn [each]. reflexivity.
assert (L : forall x, each 0 (fun k => E (coin (p k))) n (fun u => h (total (S n) (fun k => phi k (set u n x k))))
  = each 0 (fun k => E [(p k, phi k 1); (1 - p k, phi k 0)]) n (fun X => h (total n X + phi n x))).
{ intros x. rewrite <- (IH (fun y => h (y + phi n x))). apply each_ext. intros u. rewrite (set_total n u x phi). reflexivity. }
assert (Q : forall y, each 0 (fun k => E [(p k, phi k 1); (1 - p k, phi k 0)]) n (fun X => h (total (S n) (set X n y)))
  = each 0 (fun k => E [(p k, phi k 1); (1 - p k, phi k 0)]) n (fun X => h (total n X + y))).
{ intros y. apply each_ext. intros X. f_equal. apply (set_total n X y (fun _ z => z)). }
transitivity (p n * each 0 (fun k => E [(p k, phi k 1); (1 - p k, phi k 0)]) n (fun X => h (total n X + phi n 1))
  + ((1 - p n) * each 0 (fun k => E [(p k, phi k 1); (1 - p k, phi k 0)]) n (fun X => h (total n X + phi n 0)) + 0)).
- rewrite <- (L 1), <- (L 0). reflexivity.
- rewrite <- (Q (phi n 1)), <- (Q (phi n 0)). reflexivity.
Qed.

(* devices that take part independently; variance k is the noise of device k, M the greatest *)
Theorem FDP_E23_star n (p variance : nat -> R) M delta' : 0 < M -> 0 < delta' < 1 ->
  (forall k, (k < n)%nat -> 0 <= p k <= 1 /\ 0 <= variance k <= M) ->
  let V := total n (fun k => p k * (1 - p k) * variance k ^ 2) in let L := ln (2 / delta') in
  let t := M * L / 3 + sqrt ((M * L / 3) ^ 2 + 2 * V * L) in
  each 0 (fun k => E (coin (p k))) n (fun tau =>
    if Rle_dec t (Rabs (total n (fun k => tau k * variance k) - total n (fun k => p k * variance k))) then 1 else 0) <= delta'.
Proof.
intros HM HD H V L t.
assert (PL : 0 < L).
{ unfold L. rewrite <- ln_1. apply ln_increasing. lra. apply (Rmult_lt_reg_r delta'). lra. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l; lra. }
assert (PV : 0 <= V).
{ apply total_positive. intros k Hk. destruct (H k Hk). apply Rmult_le_pos; [apply Rmult_le_pos; lra | apply pow2_ge_0]. }
assert (PML : 0 < M * L / 3) by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra).
assert (VL : 0 <= 2 * V * L) by (apply Rmult_le_pos; lra).
assert (Q : t ^ 2 = 2 * L * (V + M * t / 3)).
{ unfold t. set (r := sqrt _). assert (R : r * r = (M * L / 3) ^ 2 + 2 * V * L) by (apply sqrt_sqrt;
    generalize (pow2_ge_0 (M * L / 3)); lra).
  replace ((M * L / 3 + r) ^ 2) with ((M * L / 3) ^ 2 + 2 * (M * L / 3) * r + r * r) by ring. rewrite R. field. }
assert (T : 0 < t) by (unfold t; generalize (sqrt_pos ((M * L / 3) ^ 2 + 2 * V * L)); lra).
assert (tail_of : forall c, c = 1 \/ c = -1 -> at_least n (fun k => [(p k, c * ((1 - p k) * variance k));
  (1 - p k, c * ((0 - p k) * variance k))]) t <= exp (- L)).
{ intros c C. assert (C2 : c ^ 2 = 1) by (destruct C as [-> | ->]; ring).
  set (l := fun k => [(p k, c * ((1 - p k) * variance k)); (1 - p k, c * ((0 - p k) * variance k))]).
  apply Rle_trans with (exp (- (t ^ 2 / 2 / (total n (fun k => E (l k) (fun x => x ^ 2)) + M * t / 3)))).
  - apply FDP_L3_star; [exact HM | lra |]. intros k Hk. destruct (H k Hk) as (P & S). unfold l. split; [split|split].
    + intros a b [I | [I | []]]; injection I; intros _ <-; lra.
    + simpl. ring.
    + simpl. ring.
    + assert (B : forall z, -1 <= z <= 1 -> Rabs (c * (z * variance k)) <= M).
      { intros z Z. rewrite !Rabs_mult. replace (Rabs c) with 1 by (destruct C as [-> | ->]; unfold Rabs; destruct Rcase_abs;
          lra).
        rewrite (Rabs_pos_eq (variance k)) by lra. assert (Rabs z <= 1) by (apply Rabs_le, Z). generalize (Rabs_pos z). nra. }
      intros a b [I | [I | []]]; injection I; intros <- _; apply B; lra.
  - right. f_equal. rewrite (total_ext n _ (fun k => p k * (1 - p k) * variance k ^ 2)).
    + fold V. rewrite Q. field. assert (0 < M * t / 3) by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra). lra.
    + intros k _. unfold l. simpl E. replace (p k * _ + _) with (c ^ 2 * (p k * (1 - p k) * variance k ^ 2)) by ring.
      rewrite C2. ring. }
assert (E2 : exp (- L) = delta' / 2).
{ unfold L. rewrite <- ln_Rinv by (apply Rdiv_lt_0_compat; lra). rewrite exp_ln. field; lra.
  apply Rinv_0_lt_compat, Rdiv_lt_0_compat; lra. }
rewrite E2 in tail_of.
set (h := fun y => if Rle_dec t (Rabs y) then 1 else 0).
rewrite (each_ext 0 _ n _ (fun tau => h (total n (fun k => (tau k - p k) * variance k)))).
2: { intros tau. unfold h. rewrite <- total_minus.
rewrite (total_ext n _ (fun k => (tau k - p k) * variance k)) by (intros; ring). reflexivity. }
rewrite (over_coins n p (fun k y => (y - p k) * variance k) h).
assert (laws : forall k, (k < n)%nat -> finite_law [(p k, (1 - p k) * variance k); (1 - p k, (0 - p k) * variance k)]).
{ intros k Hk. destruct (H k Hk). split. intros a b [I | [I | []]]; injection I; intros _ <-; lra. simpl. ring. }
apply Rle_trans with (over n (fun k => [(p k, (1 - p k) * variance k); (1 - p k, (0 - p k) * variance k)])
  (fun X => (if Rle_dec t (total n X) then 1 else 0) + (if Rle_dec t (- total n X) then 1 else 0))).
- apply over_le. exact laws. intros X. unfold h.
  destruct (Rle_dec t (total n X)), (Rle_dec t (- total n X)), (Rle_dec t (Rabs (total n X))) as [A|A]; try lra.
  unfold Rabs in A. destruct Rcase_abs in A; lra.
- rewrite over_plus. generalize (tail_of 1 ltac:(left; reflexivity)) (tail_of (-1) ltac:(right; reflexivity)).
  unfold at_least. intros A B.
  assert (A' : over n (fun k => [(p k, (1 - p k) * variance k);
    (1 - p k, (0 - p k) * variance k)]) (fun X => if Rle_dec t (total n X) then 1 else 0) <= delta' / 2).
  { apply Rle_trans with (2 := A). right. f_equal. apply functional_extensionality. intros k. rewrite !Rmult_1_l. reflexivity. }
  assert (B' : over n (fun k => [(p k, (1 - p k) * variance k);
    (1 - p k, (0 - p k) * variance k)]) (fun X => if Rle_dec t (- total n X) then 1 else 0) <= delta' / 2).
  { apply Rle_trans with (2 := B). right.
    rewrite <- (over_coins n p (fun k y => (y - p k) * variance k) (fun y => if Rle_dec t (- y) then 1 else 0)).
    rewrite <- (over_coins n p (fun k y => -1 * ((y - p k) * variance k)) (fun y => if Rle_dec t y then 1 else 0)).
    apply each_ext. intros tau. rewrite total_times.
    replace (-1 * total n (fun k => (tau k - p k) * variance k)) with (- total n (fun k => (tau k - p k) * variance k)) by ring.
    reflexivity. }
  lra.
Qed.

(* Noise that is just enough for (epsilon, delta) before aggregation: no standard deviation that suffices for a move by S, in
   either order, is less than sigma. Its part of the MSE, of one device in any dimension. *)
Theorem FDPs_MSE q r D w p sigma S epsilon delta gamma (N : nat -> nat -> (R -> R) -> R) M :
  0 <= p <= 1 -> 0 < S -> 0 < epsilon <= 1 -> 0 < delta <= 99 / 100 -> (1 <= q)%nat -> 0 <= sigma ->
  (forall s, 0 < s -> below (normal S s) (normal 0 s) epsilon delta -> below (normal 0 s) (normal S s) epsilon delta ->
    sigma <= s) ->
  (forall l, (l < r)%nat -> moments 0 (sigma ^ 2) (N 0%nat l)) -> (forall l, (l < r)%nat -> moments 0 0 (M l)) ->
  decoded_noise 1 r q D (fun _ => w) (fun _ => p) gamma false N M
  <= INR q * frobenius q r D * (2 * p * S ^ 2 / epsilon ^ 2 * ln (5 / 4 / delta)).
Proof.
intros P HS E HD Q HP least HN HM.
rewrite (decoded_noise_is 1 r q D (fun _ => w) (fun _ => p) (fun _ => sigma ^ 2) gamma 0).
2: { intros k l Hk Hl. replace k with 0%nat by lia. apply HN, Hl. }
2: exact HM.
assert (L : 0 < ln (5 / (4 * delta))).
{ rewrite <- ln_1. apply ln_increasing. lra. apply (Rmult_lt_reg_r (4 * delta)). lra. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l; lra. }
replace (5 / 4 / delta) with (5 / (4 * delta)) by (field; lra).
set (c := sqrt 2 * sqrt (ln (5 / (4 * delta)))).
assert (C2 : c * c = 2 * ln (5 / (4 * delta))).
{ unfold c. set (x := ln (5 / (4 * delta))) in *. replace (sqrt 2 * _ * _) with (sqrt 2 * sqrt 2 * (sqrt x * sqrt x)) by ring.
  rewrite !sqrt_sqrt; lra. }
assert (C0 : 0 < c) by (apply Rmult_lt_0_compat; apply sqrt_lt_R0; lra).
assert (B : sigma <= S * c / epsilon).
{ set (s := S * c / epsilon). assert (0 < s) by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra).
  assert (D1 : Gaussian.delta (S / s) epsilon <= delta).
  { unfold Gaussian.delta. replace (epsilon / (S / s) - S / s / 2) with (c + - (epsilon / (2 * c))) by (unfold s; field; lra).
    replace (epsilon / (S / s) + S / s / 2) with (c + epsilon / (2 * c)) by (unfold s; field; lra).
    apply (classical delta epsilon (proj1 HD) E c _ _ (proj2 HD) (Rle_refl _)); reflexivity. }
  destruct (normals 0 S s epsilon delta ltac:(assumption) HS) as (U & V). rewrite Rplus_0_l in U, V.
  apply least; [assumption | apply U, D1 | apply V, D1]. }
assert (F : 0 <= frobenius q r D) by (repeat (apply total_positive; intros); apply pow2_ge_0).
cbn [total]. unfold noise_share, Rdiv at 1. rewrite Rmult_0_l, Rplus_0_l, Rplus_0_r.
assert (X : sigma ^ 2 <= 2 * S ^ 2 / epsilon ^ 2 * ln (5 / (4 * delta))).
{ apply Rle_trans with ((S * c / epsilon) ^ 2). apply pow_incr; lra. right.
  replace ((S * c / epsilon) ^ 2) with (S ^ 2 / epsilon ^ 2 * (c * c)) by (field; lra). rewrite C2. field. lra. }
apply le_INR in Q. simpl (INR 1) in Q.
replace (2 * p * S ^ 2 / epsilon ^ 2 * ln (5 / (4 * delta))) with
  (p * (2 * S ^ 2 / epsilon ^ 2 * ln (5 / (4 * delta)))) by (field; lra).
set (m := 2 * S ^ 2 / epsilon ^ 2 * ln (5 / (4 * delta))) in *.
assert (p * sigma ^ 2 <= p * m) by (apply Rmult_le_compat_l; lra).
assert (0 <= p * m) by (apply Rmult_le_pos; [lra | apply Rle_trans with (2 := X), pow2_ge_0]).
apply Rle_trans with (p * m * frobenius q r D). apply Rmult_le_compat_r; lra.
assert (0 <= (INR q - 1) * (p * m * frobenius q r D)) by (apply Rmult_le_pos; [lra | apply Rmult_le_pos; assumption]). lra.
Qed.

(* the mean of an affine function of independent variables *)
Lemma mean_affine (G : nat -> (R -> R) -> R) (mean variance a : nat -> R) n c : (forall k, (k < n)%nat ->
  moments (mean k) (variance k) (G k)) ->
  each 0 G n (fun u => c + total n (fun k => a k * u k)) = c + total n (fun k => a k * mean k).
Proof.
revert c. induction n as [|n IH]; intros c H; cbn [each]. simpl. ring.
transitivity (G n (fun x => (c + total n (fun k => a k * mean k)) + a n * x + 0 * x ^ 2)).
- f_equal. apply functional_extensionality. intros x.
  rewrite (each_ext 0 G n _ (fun u => (c + a n * x) + total n (fun k => a k * u k))).
  + rewrite (IH (c + a n * x)) by (intros; apply H; lia). ring.
  + intros u. rewrite (set_total n u x (fun k y => a k * y)). ring.
- rewrite (H n ltac:(lia)). simpl. ring.
Qed.

Lemma mean_affine_vectors (G : nat -> nat -> (R -> R) -> R) (variance : nat -> R) r n c (a : nat -> nat -> R) :
  (forall k j, (k < n)%nat -> (j < r)%nat -> moments 0 (variance k) (G k j)) ->
  each (fun _ => 0) (fun k => each 0 (G k) r) n (fun u => c + total n (fun k => total r (fun j => a k j * u k j))) = c.
Proof.
revert c. induction n as [|n IH]; intros c H; cbn [each]. simpl. ring.
transitivity (each 0 (G n) r (fun x => c + total r (fun j => a n j * x j))).
- apply each_ext. intros x. rewrite <- (IH (c + total r (fun j => a n j * x j))) by (intros; apply H; lia).
  apply each_ext. intros u. rewrite (set_total n u x (fun k y => total r (fun j => a k j * y j))). ring.
- rewrite (mean_affine (G n) (fun _ => 0) (fun _ => variance n)) by (intros; apply H; lia).
  rewrite (total_ext r _ (fun _ => 0)) by (intros; ring). rewrite total_const. ring.
Qed.

(* weights 1 / (K p k) and a lossless codec, each coordinate of what is decoded: its mean over who takes part and all noises
   is the target *)
Theorem FDP_E4_star K r (p variance : nat -> R) (f : nat -> nat -> R) gamma floor idle N M s : (0 < K)%nat -> (s < r)%nat ->
  (forall k, (k < K)%nat -> p k <> 0) -> (forall k l, (k < K)%nat -> (l < r)%nat -> moments 0 (variance k) (N k l)) ->
  (forall l, (l < r)%nat -> moments 0 floor (M l)) ->
  average K r p N M (fun tau n m => decoded K r unit_at (fun k => / (INR K * p k)) f gamma idle tau n m s)
  = total K (fun k => f k s) / INR K.
Proof.
intros H S P HN HM. assert (K0 : INR K <> 0) by (apply not_0_INR; lia). unfold average.
transitivity (each 0 (fun k => E (coin (p k))) K (fun tau => 0 + total K (fun k => / (INR K * p k) * f k s * tau k))).
- apply each_ext. intros tau. set (signal := 0 + total K _).
  transitivity (each (fun _ => 0) (fun k => each 0 (N k) r) K (fun n => signal
    + total K (fun k => total r (fun j => unit_at s j * noise_share idle (tau k) * n k j))));
        [|apply (mean_affine_vectors N variance); exact HN].
  apply each_ext. intros n.
  transitivity (each 0 M r (fun m => (signal + total K (fun k => total r
    (fun j => unit_at s j * noise_share idle (tau k) * n k j)))
    + total r (fun l => unit_at s l / gamma * m l))).
  + apply each_ext. intros m. unfold decoded. rewrite total_unit by exact S. unfold signal. rewrite total_plus, Rplus_0_l.
    rewrite (total_ext r (fun l => unit_at s l / gamma * m l) (fun l => unit_at s l * (m l / gamma))) by (intros;
      unfold Rdiv; ring).
    rewrite total_unit by exact S. f_equal. f_equal.
    * apply total_ext. intros; ring.
    * apply total_ext. intros k _. rewrite (total_ext r _
        (fun j => unit_at s j * (noise_share idle (tau k) * n k j))) by (intros; ring).
      rewrite total_unit by exact S. reflexivity.
  + rewrite (mean_affine M (fun _ => 0) (fun _ => floor)) by exact HM.
    rewrite (total_ext r _ (fun _ => 0)) by (intros; ring). rewrite total_const. ring.
- rewrite (mean_affine _ p (fun k => p k * (1 - p k))) by (intros; apply coin_moments). rewrite Rplus_0_l. unfold Rdiv.
  rewrite Rmult_comm, <- total_times. apply total_ext. intros k Hk. field. split; [exact K0 | apply P, Hk].
Qed.

(* Laws on L labels: q is a law, and its entropy in bits; in Coq 0 ln(0) is 0, for 0 times anything is. *)
Definition is_distribution (L : nat) (q : nat -> R) : Prop := (forall i, (i < L)%nat -> 0 <= q i) /\ total L q = 1.
Definition entropy (L : nat) (q : nat -> R) : R := total L (fun i => - (q i * (ln (q i) / ln 2))).

Lemma at_most_one L q i : is_distribution L q -> (i < L)%nat -> q i <= 1.
Proof. intros (P & S) H. rewrite <- S. apply (total_part L q i P H). Qed.

Lemma ln_2_positive : 0 < ln 2.
Proof. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma ln_below q x : 0 < x -> 0 <= q -> q * (ln x) <= q * (x - 1).
Proof.
intros X Q. apply Rmult_le_compat_l. exact Q. generalize (exp_ineq1_le (ln x)). rewrite exp_ln by exact X. lra.
Qed.

Lemma entropy_positive L q : is_distribution L q -> 0 <= entropy L q.
Proof.
intros D. apply total_positive. intros i H. generalize ln_2_positive (proj1 D i H) (at_most_one L q i D H). intros P Q Q'.
destruct (Req_dec (q i) 0) as [->|N]; [lra|]. assert (ln (q i) <= 0) by (rewrite <- ln_1; apply ln_le; lra).
assert (0 <= - ln (q i) / ln 2) by (apply Rdiv_le_0_compat; lra).
replace (- (q i * (ln (q i) / ln 2))) with (q i * (- ln (q i) / ln 2)) by (field; lra). apply Rmult_le_pos; lra.
Qed.

Lemma entropy_at_most L q : is_distribution L q -> entropy L q <= ln (INR L) / ln 2.
Proof.
intros D. generalize ln_2_positive. intros P.
assert (HL : (0 < L)%nat) by (destruct L; [destruct D as (_ & S); simpl in S; lra | lia]).
assert (N : 0 < INR L) by (apply lt_0_INR, HL).
apply (Rmult_le_reg_r (ln 2)). exact P. replace (ln (INR L) / ln 2 * ln 2) with (ln (INR L)) by (field; lra).
unfold entropy. rewrite Rmult_comm, <- total_times. apply Rminus_le.
replace (total L _ - ln (INR L)) with (total L (fun i => - (q i * ln (q i)) - ln (INR L) * q i)).
2: { rewrite total_minus, total_times, (proj2 D). rewrite Rmult_1_r. f_equal. apply total_ext. intros. field. lra. }
apply Rle_trans with (total L (fun i => / INR L - q i)).
- apply total_le. intros i H. generalize (proj1 D i H). intros Q. destruct (Req_dec (q i) 0) as [->|Z].
  + assert (0 < / INR L) by (apply Rinv_0_lt_compat, N). lra.
  + assert (Q0 : 0 < q i) by lra. assert (X : 0 < / (INR L * q i)) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption).
    generalize (ln_below (q i) _ X Q). rewrite ln_Rinv, ln_mult by (try apply Rmult_lt_0_compat; assumption).
    replace (q i * (/ (INR L * q i) - 1)) with (/ INR L - q i) by (field; lra). lra.
- rewrite total_minus, total_const, (proj2 D). right. field. lra.
Qed.

(* the exact sensitivity, attained by a sure label and the uniform law *)
Theorem FDP_E15_star L q q' : is_distribution L q -> is_distribution L q' ->
  Rabs (entropy L q - entropy L q') <= ln (INR L) / ln 2
  /\ is_distribution L (fun _ => / INR L) /\ is_distribution L (unit_at 0)
  /\ Rabs (entropy L (fun _ => / INR L) - entropy L (unit_at 0)) = ln (INR L) / ln 2.
Proof.
intros D D'. assert (HL : (0 < L)%nat) by (destruct L; [destruct D as (_ & S); simpl in S; lra | lia]).
assert (N : 1 <= INR L) by (apply (le_INR 1); lia). generalize ln_2_positive. intros P.
split; [|split; [|split]].
- generalize (entropy_positive L q D) (entropy_positive L q' D') (entropy_at_most L q D) (entropy_at_most L q' D'). intros.
  apply Rabs_le. lra.
- split. intros; left; apply Rinv_0_lt_compat; lra. rewrite total_const. field. lra.
- split. intros i _. unfold unit_at. destruct (0 =? i)%nat; lra.
  rewrite (total_ext L _ (fun l => unit_at 0 l * 1)) by (intros; ring). apply total_unit, HL.
- replace (entropy L (unit_at 0)) with 0.
  + unfold entropy. rewrite total_const, ln_Rinv by lra. rewrite Rminus_0_r.
    replace (INR L * _) with (ln (INR L) / ln 2) by (field; lra). apply Rabs_pos_eq. apply Rdiv_le_0_compat; [|exact P].
    rewrite <- ln_1. apply ln_le; lra.
  + unfold entropy. rewrite (total_ext L _ (fun _ => 0)). rewrite total_const; ring.
    intros i _. unfold unit_at. destruct (0 =? i)%nat; rewrite ?ln_1; unfold Rdiv; ring.
Qed.

Theorem FDP_E15 L q q' : is_distribution L q -> is_distribution L q' ->
  Rabs (entropy L q - entropy L q') <= 2 * (ln (INR L) / ln 2).
Proof.
intros D D'. destruct (FDP_E15_star L q q' D D') as (B & _). generalize (Rabs_pos (entropy L q - entropy L q')). lra.
Qed.

(* the greatest probability is top *)
Theorem FDP_F3_min L q top : is_distribution L q -> (forall i, (i < L)%nat -> q i <= top) ->
  (exists i, (i < L)%nat /\ q i = top) ->
  - (ln top / ln 2) <= entropy L q.
Proof.
intros D T (i0 & I0 & _). generalize ln_2_positive. intros P.
replace (- (ln top / ln 2)) with (total L (fun i => - (ln top / ln 2) * q i)) by (rewrite total_times, (proj2 D); ring).
apply total_le. intros i H. generalize (proj1 D i H) (T i H). intros Q Q'. destruct (Req_dec (q i) 0) as [->|N]; [lra|].
assert (ln (q i) <= ln top) by (apply ln_le; lra).
replace (- (q i * (ln (q i) / ln 2))) with (q i / ln 2 * - ln (q i)) by (field; lra).
replace (- (ln top / ln 2) * q i) with (q i / ln 2 * - ln top) by (field; lra).
apply Rmult_le_compat_l; [apply Rdiv_le_0_compat; lra | lra].
Qed.

(* A hidden layer: its inputs and outputs, matrix, bias, and a number that is at least the spectral norm of the matrix. *)
Record layer := { inputs : nat; outputs : nat; matrix : nat -> nat -> R; bias : nat -> R; norm : R }.

Fixpoint hidden (act : R -> R) (net : list layer) (x : nat -> R) : nat -> R :=
  match net with
  | [] => x
  | k :: rest => hidden act rest (fun i => act (image (inputs k) (matrix k) x i + bias k i))
  end.

(* the layers lead from a inputs to e outputs *)
Fixpoint chain (a : nat) (net : list layer) (e : nat) : Prop :=
  match net with
  | [] => a = e
  | k :: rest => inputs k = a /\ 0 <= norm k
      /\ (forall v, size (outputs k) (image (inputs k) (matrix k) v) <= norm k * size (inputs k) v) /\ chain (outputs k) rest e
  end.

Definition growth (net : list layer) : R := fold_right (fun k g => norm k * g) 1 net.

Lemma growth_positive a net e : chain a net e -> 0 <= growth net.
Proof.
revert a. induction net as [|k net IH]; intros a C; simpl. lra. destruct C as (_ & N & _ & C). apply Rmult_le_pos. exact N.
apply (IH _ C).
Qed.

Lemma size_at_most n u v : (forall i, (i < n)%nat -> Rabs (u i) <= Rabs (v i)) -> size n u <= size n v.
Proof. intros H. apply sqrt_le_1_alt, total_le. intros i Hi. apply Rsqr_le_abs_1, H, Hi. Qed.

Lemma hidden_moves act net a e x x' : (forall u v, Rabs (act u - act v) <= Rabs (u - v)) -> chain a net e ->
  size e (fun i => hidden act net x' i - hidden act net x i) <= growth net * size a (fun i => x' i - x i).
Proof.
intros Lip. revert a x x'. induction net as [|k net IH]; intros a x x' C; cbn [hidden].
- simpl in C. subst e. simpl. lra.
- destruct C as (<- & N & S & C). simpl growth.
  apply Rle_trans with (1 := IH _ (fun i => act (image (inputs k) (matrix k) x i + bias k i))
    (fun i => act (image (inputs k) (matrix k) x' i + bias k i)) C).
  rewrite (Rmult_comm (norm k)), Rmult_assoc. apply Rmult_le_compat_l. apply (growth_positive _ _ _ C).
  apply Rle_trans with (2 := S (fun i => x' i - x i)). apply size_at_most. intros i _. apply Rle_trans with (1 := Lip _ _).
  right. f_equal.
  unfold image. replace (total (inputs k) (fun l => matrix k i l * (x' l - x l)))
    with (total (inputs k) (fun l => matrix k i l * x' l) - total (inputs k) (fun l => matrix k i l * x l)).
  ring. rewrite <- total_minus. apply total_ext. intros; ring.
Qed.

Definition logit (act : R -> R) (net : list layer) (e : nat) (V : nat -> nat -> R) (b : nat -> R) (x : nat -> R) (j : nat) : R :=
  dot e (V j) (hidden act net x) + b j.

(* Of `labels` labels, i is that of x. Where another is, some logit j is at least that of i; such a point is no nearer than
   `least`, which is at most each of the quotients. *)
Theorem FDP_L1_star act net a e V b labels i x x' least : (forall u v, Rabs (act u - act v) <= Rabs (u - v)) -> chain a net e ->
  (forall j, (j < labels)%nat -> j <> i -> 0 < size e (fun k => V i k - V j k) * growth net
     /\ least <= (logit act net e V b x i - logit act net e V b x j) / (size e (fun k => V i k - V j k) * growth net)) ->
  (exists j, (j < labels)%nat /\ j <> i /\ logit act net e V b x' i <= logit act net e V b x' j) ->
  least <= size a (fun k => x' k - x k).
Proof.
intros Lip C H (j & J & D & K). destruct (H j J D) as (P & Q). apply Rle_trans with (1 := Q).
set (row := fun k => V i k - V j k) in *. set (h := hidden act net x) in *. set (h' := hidden act net x').
apply (Rmult_le_reg_r (size e row * growth net)). exact P. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
assert (B : logit act net e V b x i - logit act net e V b x j <= - dot e row (fun k => h' k - h k)).
{ unfold row. rewrite dot_minus, !dot_right_minus. unfold logit in *. fold h h' in K |- *. lra. }
apply Rle_trans with (1 := B). replace (- dot e row (fun k => h' k - h k)) with
  (dot e row (fun k => -1 * (h' k - h k))) by (rewrite dot_right_times; ring).
apply Rle_trans with (1 := cauchy e row _).
assert (S : size e (fun k => -1 * (h' k - h k)) <= growth net * size a (fun k => x' k - x k)).
{ apply Rle_trans with (2 := hidden_moves act net a e x x' Lip C). apply size_at_most. intros k _. fold h h'.
  rewrite Rabs_mult, (Rabs_left1 (-1)) by lra. lra. }
generalize (size_positive e row). intros. replace (size a (fun k => x' k - x k) * (size e row * growth net))
  with (size e row * (growth net * size a (fun k => x' k - x k))) by ring. apply Rmult_le_compat_l; assumption.
Qed.

(* Without channel and noise the label is right with probability P0, independently of the error e of the decoded feature;
   where it is right it stays so within the margin. mean is that over e, on the functions that have one; the mean of |e|^2 is
   the MSE. *)
Theorem FDP_T2 d P0 margin mse (right : bool -> (nat -> R) -> bool) (has_mean : ((nat -> R) -> R) -> Prop) (mean : ((nat ->
  R) -> R) -> R) :
  0 <= P0 <= 1 -> 0 < margin -> (forall e, size d e <= margin -> right true e = true) ->
  (forall b, has_mean (fun e => if right b e then 1 else 0)) ->
  (forall a c, has_mean (fun e => a + c * size d e ^ 2) /\ mean (fun e => a + c * size d e ^ 2) = a + c * mse) ->
  (forall f g, has_mean f -> has_mean g -> (forall e, f e <= g e) -> mean f <= mean g) ->
  Rmax 0 (P0 * (1 - mse / margin ^ 2)) <= E [(P0, true); (1 - P0, false)] (fun b => mean (fun e => if right b e then 1 else 0)).
Proof.
intros P M S H Q R. cbn [E]. rewrite Rplus_0_r.
assert (Z : forall b, 0 <= mean (fun e => if right b e then 1 else 0)).
{ intros b. destruct (Q 0 0) as (Q1 & Q2). apply Rle_trans with (mean (fun e => 0 + 0 * size d e ^ 2)). rewrite Q2. lra.
  apply R; [exact Q1 | apply H |]. intros e. destruct (right b e); lra. }
assert (W : 1 - mse / margin ^ 2 <= mean (fun e => if right true e then 1 else 0)).
{ destruct (Q 1 (- / margin ^ 2)) as (Q1 & Q2). apply Rle_trans with (mean (fun e => 1 + - / margin ^ 2 * size d e ^ 2)).
  rewrite Q2. unfold Rdiv. lra.
  apply R; [exact Q1 | apply H |]. intros e. assert (I : 0 < / margin ^ 2) by (apply Rinv_0_lt_compat, pow_lt, M).
  destruct (Rle_lt_dec (size d e) margin) as [L|L].
  - rewrite (S e L). generalize (pow2_ge_0 (size d e)). nra.
  - assert (1 <= / margin ^ 2 * size d e ^ 2).
    { rewrite <- (Rinv_l (margin ^ 2)) by (apply pow_nonzero; lra). apply Rmult_le_compat_l. lra. apply pow_incr. lra. }
    destruct (right true e); lra. }
generalize (Z true) (Z false). intros Z1 Z2. apply Rmax_lub.
- apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
- assert (0 <= (1 - P0) * mean (fun e => if right false e then 1 else 0)) by (apply Rmult_le_pos; lra).
  assert (P0 * (1 - mse / margin ^ 2) <= P0 * mean (fun e => if right true e then 1 else 0)) by (apply Rmult_le_compat_l;
    lra). lra.
Qed.

(* The softmax of n logits. *)
Definition softmax (n : nat) (l : nat -> R) (i : nat) : R := exp (l i) / total n (fun k => exp (l k)).

Lemma exponentials_positive n l : (0 < n)%nat -> 0 < total n (fun k => exp (l k)).
Proof.
intros H. apply Rlt_le_trans with (exp (l 0%nat)). apply exp_pos.
apply (total_part n (fun k => exp (l k)) 0); [intros; left; apply exp_pos | exact H].
Qed.

(* the variance of numbers d under a law q is at most half the sum of their squares *)
Lemma variance_at_most n q d : is_distribution n q ->
  total n (fun k => q k * d k ^ 2) - total n (fun k => q k * d k) ^ 2 <= dot n d d / 2.
Proof.
intros (P & S). set (m := total n (fun k => q k * d k)).
assert (T : total n (fun k => 4 * q k ^ 2 * d k ^ 2) <= 2 * total n (fun k => q k * d k ^ 2) + 2 * m ^ 2).
{ apply Rle_trans with (total n (fun k => total n (fun l => q k * q l * (d k + d l) ^ 2))).
  - apply total_le. intros k K. apply Rle_trans with (q k * q k * (d k + d k) ^ 2). right; ring.
    apply (total_part n (fun l => q k * q l * (d k + d l) ^ 2) k); [|exact K]. intros l L.
    apply Rmult_le_pos; [apply Rmult_le_pos; [apply P, K | apply P, L] | apply pow2_ge_0].
  - right. rewrite (total_ext n _ (fun k => q k * d k ^ 2 + 2 * m * (q k * d k) + total n (fun l => q l * d l ^ 2) * q k)).
    + rewrite !total_plus, !total_times, S. fold m. ring.
    + intros k _. rewrite (total_ext n _ (fun l => q k * d k ^ 2 * q l + 2 * (q k * d k) * (q l * d l)
        + q k * (q l * d l ^ 2))) by (intros; ring).
      rewrite !total_plus, !total_times, S. fold m. ring. }
assert (U : total n (fun k => 2 * (q k * d k ^ 2)) - total n (fun k => 2 * q k ^ 2 * d k ^ 2) <= dot n d d / 2).
{ unfold dot. gather. apply total_le. intros k _. generalize (pow2_ge_0 (d k * (q k - 1 / 2))). nra. }
rewrite total_times in U. rewrite (total_ext n (fun k => 4 * q k ^ 2 * d k ^ 2) (fun k => 2 * (2 * q k ^ 2 * d k ^ 2))),
  total_times in T by (intros; ring).
lra.
Qed.

(* the covariance of d with an indicator less another *)
Lemma covariance_at_most n q d i j c : is_distribution n q -> (i < n)%nat -> (j < n)%nat -> i <> j -> 0 < c ->
  dot n d d <= 2 * c ^ 2 ->
  let m := total n (fun k => q k * d k) in Rabs (q i * (d i - m) - q j * (d j - m)) <= c.
Proof.
intros D I J N C B m. generalize (variance_at_most n q d D). fold m. intros V. destruct D as (P & S).
set (u := fun k => unit_at i k - unit_at j k). set (g := q i - q j).
assert (at_i : forall f, total n (fun k => unit_at i k * f k) = f i) by (intros; apply total_unit, I).
assert (at_j : forall f, total n (fun k => unit_at j k * f k) = f j) by (intros; apply total_unit, J).
assert (QU : total n (fun k => q k * u k) = g).
{ rewrite (total_ext n _ (fun k => unit_at i k * q k - unit_at j k * q k)) by (intros; unfold u; ring).
  rewrite total_minus, at_i, at_j. reflexivity. }
assert (QD : total n (fun k => q k * u k * d k) = q i * d i - q j * d j).
{ rewrite (total_ext n _ (fun k => unit_at i k * (q k * d k) - unit_at j k * (q k * d k))) by (intros; unfold u; ring).
  rewrite total_minus, at_i, at_j. reflexivity. }
assert (QQ : total n (fun k => q k * u k ^ 2) = q i + q j).
{ rewrite (total_ext n _ (fun k => unit_at i k * q k + unit_at j k * q k)).
  - rewrite total_plus, at_i, at_j. reflexivity.
  - intros k _. unfold u, unit_at. destruct (Nat.eqb_spec i k), (Nat.eqb_spec j k); try lia; ring. }
assert (two : q i + q j <= 1).
{ rewrite <- QQ, <- S. apply total_le. intros k K. generalize (P k K). unfold u, unit_at.
  destruct (Nat.eqb i k), (Nat.eqb j k); lra. }
(* a variance is not negative, here of c u + s d, s = 1 or -1 *)
assert (W : forall s, s ^ 2 = 1 -> 0 <= c ^ 2 + 2 * c * s * (q i * (d i - m) - q j * (d j - m)) + c ^ 2).
{ intros s S2. assert (X : 0 <= total n (fun k => q k * (c * (u k - g) + s * (d k - m)) ^ 2)).
  { apply total_positive. intros k K. apply Rmult_le_pos; [apply P, K | apply pow2_ge_0]. }
  rewrite (total_ext n _ (fun k => c ^ 2 * (q k * u k ^ 2) + 2 * c * s * (q k * u k * d k) + s ^ 2 * (q k * d k ^ 2)
    - (2 * c * (c * g + s * m)) * (q k * u k) - (2 * s * (c * g + s * m)) * (q k * d k) + (c * g
        + s * m) ^ 2 * q k)) in X by (intros; ring).
  rewrite !total_plus, !total_minus, !total_plus, !total_times, QU, QD, QQ, S in X. fold m in X. rewrite S2 in X.
  assert (Y : c ^ 2 * (q i + q j) <= c ^ 2 * 1) by (apply Rmult_le_compat_l; [apply pow2_ge_0 | exact two]).
  assert (0 <= c ^ 2 * g ^ 2) by (apply Rmult_le_pos; apply pow2_ge_0).
  assert (Z : s * s = 1) by lra. unfold g in *. nra. }
generalize (W 1 ltac:(ring)) (W (-1) ltac:(ring)). intros W1 W2. apply Rabs_le. split; nra.
Qed.

(* how far the difference of two entries moves *)
Lemma softmax_moves n l l' i j : (i < n)%nat -> (j < n)%nat -> i <> j ->
  (softmax n l i - softmax n l j) - (softmax n l' i - softmax n l' j) <= / sqrt 2 * size n (fun k => l' k - l k).
Proof.
intros I J N. assert (H : (0 < n)%nat) by lia. set (d := fun k => l' k - l k).
assert (R2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra). assert (R0 : 0 < sqrt 2) by (apply sqrt_lt_R0; lra).
destruct (Req_dec (size n d) 0) as [Z|Z].
{ assert (E : forall k, (k < n)%nat -> l' k = l k).
  { intros k K. generalize (total_part n (fun k => d k * d k) k ltac:(intros; nra) K) (size_square n d). unfold dot.
    intros A B. rewrite Z in B.
    unfold d in *. nra. }
  rewrite Z. unfold softmax. rewrite (E i I), (E j J),
    (total_ext n (fun k => exp (l' k)) (fun k => exp (l k))) by (intros k K; rewrite (E k K); reflexivity). lra. }
set (at_time := fun t k => l k + t * d k). set (q := fun t => softmax n (at_time t)).
set (f := fun t => softmax n (at_time t) i - softmax n (at_time t) j).
set (df := fun t => q t i * (d i - total n (fun k => q t k * d k)) - q t j * (d j - total n (fun k => q t k * d k))).
assert (Q : forall t, is_distribution n (q t)).
{ intros t. generalize (exponentials_positive n (at_time t) H). intros P. split.
  - intros k _. left. apply Rdiv_lt_0_compat; [apply exp_pos | exact P].
  - unfold q, softmax, Rdiv. rewrite (total_ext n _ (fun k => / total n
      (fun k => exp (at_time t k)) * exp (at_time t k))) by (intros; ring).
    rewrite total_times. field. lra. }
assert (D1 : forall t k, is_derive (fun t => softmax n (at_time t) k) t (q t k * (d k - total n (fun l => q t l * d l)))).
{ intros t k. generalize (exponentials_positive n (at_time t) H). set (S := total n (fun k => exp (at_time t k))). intros P.
  assert (E : forall k, is_derive (fun t => exp (at_time t k)) t (d k * exp (at_time t k))).
  { intros m. unfold at_time. auto_derive; [trivial | ring]. }
  replace (q t k * (d k - total n (fun l => q t l * d l)))
    with ((d k * exp (at_time t k) * S - exp (at_time t k) * total n (fun m => d m * exp (at_time t m))) / S ^ 2).
  - apply (is_derive_div (fun t => exp (at_time t k)) (fun t => total n (fun m => exp (at_time t m)))); [apply E | | fold S; lra].
    apply (derive_total n (fun m t => exp (at_time t m))). intros m _. apply E.
  - unfold q, softmax. fold S. rewrite (total_ext n (fun l => exp (at_time t l) / S * d l)
      (fun m => / S * (d m * exp (at_time t m)))) by (intros; field; lra).
    rewrite total_times. field. lra. }
destruct (MVT_gen f 0 1 df) as (t & _ & T).
- intros t _. apply (is_derive_minus (fun t => softmax n (at_time t) i) (fun t => softmax n (at_time t) j)); apply D1.
- intros t _. apply continuity_pt_filterlim. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). exists (df t).
  apply (is_derive_minus (fun t => softmax n (at_time t) i) (fun t => softmax n (at_time t) j)); apply D1.
- assert (E0 : at_time 0 = l) by (apply functional_extensionality; intros; unfold at_time; ring).
  assert (E1 : at_time 1 = l') by (apply functional_extensionality; intros; unfold at_time, d; ring).
  unfold f in T. rewrite E0, E1 in T.
  assert (C0 : 0 < / sqrt 2 * size n d).
  { generalize (size_positive n d). intros. apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat, R0 | lra]. }
  assert (C : Rabs (df t) <= / sqrt 2 * size n d).
  { apply (covariance_at_most n (q t) d i j _ (Q t) I J N C0). rewrite <- size_square.
    replace (2 * (/ sqrt 2 * size n d) ^ 2) with (2 / (sqrt 2 * sqrt 2) * (size n d * size n d)) by (field; lra). rewrite R2.
    right. field. }
  apply Rabs_le_between in C. lra.
Qed.

(* the Frobenius norm is at least the spectral norm *)
Lemma frobenius_norm q r D v : size q (image r D v) <= sqrt (frobenius q r D) * size r v.
Proof.
unfold size. rewrite <- sqrt_mult_alt. apply sqrt_le_1_alt, image_at_most. repeat (apply total_positive; intros). apply pow2_ge_0.
Qed.

(* Lemma 1, with norms that are at least the spectral norms, as the Frobenius norms are; `last` is that of the last matrix V *)
Theorem FDP_L1 act net a e V b labels last i x x' least : (forall u v, Rabs (act u - act v) <= Rabs (u - v)) -> chain a net e ->
  (forall v, size labels (image e V v) <= last * size e v) -> 0 < last * growth net -> (i < labels)%nat ->
  let P y := softmax labels (logit act net e V b y) in
  (forall j, (j < labels)%nat -> j <> i -> least <= sqrt 2 * (P x i - P x j) / (last * growth net)) ->
  (exists j, (j < labels)%nat /\ j <> i /\ P x' i <= P x' j) ->
  least <= size a (fun k => x' k - x k).
Proof.
intros Lip C HV PG I P H (j & J & D & K). apply Rle_trans with (1 := H j J D).
assert (R2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra). assert (R0 : 0 < sqrt 2) by (apply sqrt_lt_R0; lra).
assert (G : 0 <= growth net) by apply (growth_positive _ _ _ C).
assert (L0 : 0 <= last) by (apply Rnot_lt_le; intros L; nra).
apply (Rmult_le_reg_r (last * growth net)). exact PG. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
generalize (softmax_moves labels (logit act net e V b x) (logit act net e V b x') i j I J (not_eq_sym D)). fold (P x) (P x').
intros M.
assert (S : size labels (fun k => logit act net e V b x' k - logit act net e V b x k)
  <= last * (growth net * size a (fun k => x' k - x k))).
{ apply Rle_trans with (size labels (image e V (fun k => hidden act net x' k - hidden act net x k))).
  - apply size_at_most. intros k _. right. f_equal. unfold logit, image.
    rewrite (total_ext e _ (fun l => V k l * hidden act net x' l - V k l * hidden act net x l)) by (intros; ring).
    rewrite total_minus. unfold dot. ring.
  - apply Rle_trans with (1 := HV _). apply Rmult_le_compat_l. exact L0. apply (hidden_moves act net a e x x' Lip C). }
apply (Rmult_le_compat_l (/ sqrt 2)) in S; [|left; apply Rinv_0_lt_compat, R0].
assert (T : sqrt 2 * (P x i - P x j) <= sqrt 2 * (/ sqrt 2 * (last * (growth net * size a
  (fun k => x' k - x k))))) by (apply Rmult_le_compat_l; lra).
apply Rle_trans with (1 := T). right. field. lra.
Qed.

(* What follows is about laws, events and divergences as in Divergence.v; the normal laws are those of Gaussian.v, and of
   Dimensions.v in any dimension. *)
From Coq Require FinFun.
From Airtight Require Import Divergence Rows Gaussian Erfc Mass Classical Vector Dimensions OverTheAir.

(** The distribution function of N(0, 1), of which half lies below 0 (Mass.v). *)
Definition Phi (x : R) : R := 1 / 2 + RInt n 0 x.

Lemma Phi_tail x : Phi x = tail (- x).
Proof. unfold Phi. rewrite tail_is, half_odd. unfold half. ring. Qed.

Lemma Phi_rises x y : x <= y -> Phi x <= Phi y.
Proof. intro H. rewrite !Phi_tail. apply tail_falls. lra. Qed.

Lemma Phi_between x : 0 <= Phi x <= 1.
Proof.
  rewrite Phi_tail. split. apply tail_not_negative. generalize (tail_reflected x) (tail_not_negative x). lra.
Qed.

(** Tests on the line, each on a bounded interval, under which these densities have probabilities. *)
Record look (densities : list (R -> R)) : Type := {
  coin : R -> R; low : R; high : R;
  between : forall x, 0 <= coin x <= 1;
  ordered : low <= high;
  counted : forall f, In f densities -> forall a b, ex_RInt (fun x => coin x * f x) a b }.
Arguments coin {densities}. Arguments low {densities}. Arguments high {densities}. Arguments between {densities}.
Arguments ordered {densities}. Arguments counted {densities}.

Definition chance {densities} (f : R -> R) (A : look densities) : R := RInt (fun x => coin A x * f x) (low A) (high A).

Lemma look_below f g eps d :
  @within (look [f; g]) (exp eps) (chance f) (chance g) d <-> below f g eps d.
Proof.
  split.
  - intros H phi A B [Hp [If Ig]] O.
    assert (C : forall h, In h [f; g] -> forall a b, ex_RInt (fun x => phi x * h x) a b) by (intros h [<- | [<- | []]];
      assumption).
    exact (H {| coin := phi; low := A; high := B; between := Hp; ordered := O; counted := C |}).
  - intros H A. apply (H (coin A) (low A) (high A)); [|apply ordered].
    split; [apply between|]. split; apply counted; simpl; auto.
Qed.

Lemma below_look densities f g eps d : In f densities -> In g densities -> below f g eps d ->
  @within (look densities) (exp eps) (chance f) (chance g) d.
Proof.
  intros Hf Hg H A. apply (H (coin A) (low A) (high A)); [|apply ordered].
  split; [apply between|]. split; apply counted; assumption.
Qed.

Lemma delta_divergence mu eps : 0 < mu ->
  @divergence (look [fun x => n (x - mu); n]) (exp eps) (chance (fun x => n (x - mu))) (chance n) (delta mu eps).
Proof. intro M. apply within_divergence. intro e. rewrite look_below. apply exact_curve. exact M. Qed.

Theorem FDP_R1 mu eps : 0 < mu ->
  @divergence (look [fun x => n (x - mu); n]) (exp eps) (chance (fun x => n (x - mu))) (chance n)
    (Phi (mu / 2 - eps / mu) - exp eps * Phi (- (mu / 2) - eps / mu)).
Proof.
  intro M. rewrite !Phi_tail. replace (- (mu / 2 - eps / mu)) with (eps / mu - mu / 2) by ring.
  replace (- (- (mu / 2) - eps / mu)) with (eps / mu + mu / 2) by ring. apply delta_divergence. exact M.
Qed.

(** On any class of events of any space. *)
Theorem FDP_L4 (event : Type) (P1 P0 : event -> R) p eps d : 0 < p <= 1 -> 0 <= eps ->
  (divergence (exp eps) P1 P0 d <-> divergence (1 + p * (exp eps - 1)) (mixed p P1 P0) P0 (p * d)).
Proof. intros C _. apply mixture_divergence. lra. Qed.

(** The others take part as a set, the i-th of n sets with the probability w i; P1 i is the law of what is received from device
   k and them, Q i that from them alone. Who sees the sets too has the two sums. *)
Theorem FDP_T1a_hidden (event : Type) n w (P1 Q : nat -> event -> R) p lambda h back d d' :
  inhabited event -> weights n w -> 0 < p <= 1 ->
  (forall i, (i < n)%nat -> divergence (1 + (lambda - 1) / p) (P1 i) (Q i) (h i)) ->
  (forall i, (i < n)%nat -> divergence lambda (Q i) (mixed p (P1 i) (Q i)) (back i)) ->
  let P i := mixed p (P1 i) (Q i) in
  divergence lambda (averaged n w P) (averaged n w Q) d -> divergence lambda (averaged n w Q) (averaged n w P) d' ->
  d <= total n (fun i => w i * (p * h i)) /\ d' <= total n (fun i => w i * back i) /\
  divergence lambda (together n w P) (together n w Q) (total n (fun i => w i * (p * h i))) /\
  divergence lambda (together n w Q) (together n w P) (total n (fun i => w i * back i)).
Proof.
  intros I [N S] C H B P D D'.
  assert (K : forall i, (i < n)%nat -> divergence lambda (P i) (Q i) (p * h i)).
  { intros i L. specialize (H i L). apply (mixture_divergence p) in H; [|lra].
    replace (1 + p * (1 + (lambda - 1) / p - 1)) with lambda in H by (field; lra). exact H. }
  assert (W : forall (X Y : nat -> event -> R) e, (forall i, (i < n)%nat -> divergence lambda (X i) (Y i) (e i)) ->
    forall i, (i < n)%nat -> within lambda (X i) (Y i) (e i)).
  { intros X Y e G i L. apply (divergence_within _ _ _ _ _ (G i L)). lra. }
  repeat split.
  - apply (divergence_within _ _ _ _ _ D). apply (averaged_within n w lambda P Q (fun i => p * h i)). exact N. apply W. exact K.
  - apply (divergence_within _ _ _ _ _ D'). apply averaged_within. exact N. apply W. exact B.
  - apply (proj1 (together_divergence n w lambda P Q (fun i => p * h i) I N K)).
  - apply (proj2 (together_divergence n w lambda P Q (fun i => p * h i) I N K)).
  - apply (proj1 (together_divergence n w lambda Q P back I N B)).
  - apply (proj2 (together_divergence n w lambda Q P back I N B)).
Qed.

(** Scheme 2.1, seen by a server that sees who sends and, then, the signal: an event is one of the signal, and whether silence
   is in it. Scores u <= u' with noise s; the device sends if its noisy score is at most eta. *)
Definition sent {event : Type} (p : R) (P : event -> R) : bool * event -> R := fun A => p * P (snd A) + if fst A then 1 - p else
  0.

Theorem FDP_aware u u' eta s mu eps d : 0 < s -> u <= u' -> 0 < mu -> 0 <= eps ->
  let p := Phi ((eta - u) / s) in
  let p' := Phi ((eta - u') / s) in
  @divergence (bool * look [fun x => n (x - mu); n]) (exp eps) (sent p (chance (fun x => n (x - mu)))) (sent p' (chance n)) d ->
  p * delta mu eps <= d.
Proof.
  intros S U M E p p' D.
  assert (O : p' <= p) by (apply Phi_rises; apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra).
  generalize (Phi_between ((eta - u) / s)) (Phi_between ((eta - u') / s)). fold p p'. intros B B'.
  destruct (Rle_lt_or_eq_dec 0 p (proj1 B)) as [Pp | Z].
  - assert (W : @within (look [fun x => n (x - mu); n]) (exp eps) (chance (fun x => n (x - mu))) (chance n) (d / p)).
    { intro A. generalize (proj2 (divergence_within _ _ _ _ _ D) (Rle_refl d) (false, A)). unfold sent; simpl. intro H.
      assert (Q : 0 <= chance n A).
      { unfold chance. apply RInt_ge_0. apply ordered. apply counted; simpl; auto.
        intros x _. apply Rmult_le_pos. apply between. left; apply n_positive. }
      apply (Rmult_le_reg_l p). exact Pp. replace (p * (d / p)) with d by (field; lra).
      assert (0 <= exp eps * chance n A) by (apply Rmult_le_pos; [left; apply exp_pos | exact Q]).
      assert (p' * (exp eps * chance n A) <= p * (exp eps * chance n A)) by (apply Rmult_le_compat_r; lra). lra. }
    apply (divergence_within _ _ _ _ _ (delta_divergence mu eps M)) in W.
    apply (Rmult_le_compat_l p) in W; [|lra]. replace (p * (d / p)) with d in W by (field; lra). exact W.
  - rewrite <- Z, Rmult_0_l.
    assert (C : forall h, In h [fun x => n (x - mu); n] -> forall a b, ex_RInt (fun x => 0 * h x) a b).
    { intros h _ a b. apply (ex_RInt_ext (fun _ => 0)). intros; symmetry; apply Rmult_0_l. apply ex_RInt_const. }
    set (A := {| coin := fun _ => 0; low := 0; high := 0; between := fun _ => conj (Rle_refl 0) Rle_0_1; ordered := Rle_refl 0;
      counted := C |}).
    apply Rle_trans with (sent p (chance (fun x => n (x - mu))) (false, A) - exp eps * sent p' (chance n) (false, A)).
    + unfold sent, chance; simpl. rewrite !RInt_point. unfold zero; simpl. lra.
    + apply D. exists (false, A). reflexivity.
Qed.

(** taking is the event that device k takes part, near that the noise is near its mean. *)
Theorem FDP_E25 (W : Type) ev (P : (W -> Prop) -> R) (taking near : W -> Prop) delta' : probability ev P -> ev taking -> ev near
  ->
  1 - delta' <= P near -> 0 < 1 - delta' -> P (fun x => taking x /\ near x) / P near <= P taking / (1 - delta').
Proof.
  intros L T N D Z. unfold Rdiv. apply Rmult_le_compat.
  - apply (not_negative _ _ L). apply (ev_and _ _ L); assumption.
  - left. apply Rinv_0_lt_compat. lra.
  - apply (probability_rises _ _ L); try tauto. apply (ev_and _ _ L); assumption.
  - apply Rinv_le_contravar; assumption.
Qed.

(** chosen x is the set that is selected, true_set the one that should be; the event A is that they are the same. *)
Section True_set.
Variables (W : Type) (ev : (W -> Prop) -> Prop) (P : (W -> Prop) -> R) (device : Type).
Variables (chosen : W -> device -> bool) (true_set : device -> bool).
Hypothesis law : probability ev P.
Let A (x : W) : Prop := forall j, chosen x j = true_set j.
Let indicator (b : bool) : R := if b then 1 else 0.
Hypothesis A_event : ev A.

Theorem FDP_E51 k : ev (fun x => chosen x k = true) -> P A * indicator (true_set k) <= P (fun x => chosen x k = true).
Proof.
  intro K. destruct (true_set k) eqn:T; simpl.
  - rewrite Rmult_1_r. apply (probability_rises _ _ law); try assumption. intros x H. rewrite H. exact T.
  - rewrite Rmult_0_r. apply (not_negative _ _ law). exact K.
Qed.

Theorem FDP_E52 k : ev (fun x => chosen x k = true) -> P A < 1 ->
  P (fun x => chosen x k = true) <= P A * indicator (true_set k) + P (fun x => chosen x k = true /\ ~ A x) / P (fun x => ~ A x).
Proof.
  intros K L. assert (N : ev (fun x => ~ A x)) by (apply (ev_not _ (events _ _ law)); exact A_event).
  rewrite (split_event _ _ law _ A K A_event). apply Rplus_le_compat.
  - destruct (true_set k) eqn:T; simpl.
    + rewrite Rmult_1_r. apply (probability_rises _ _ law); try tauto. apply (ev_and _ _ law); assumption.
    + rewrite Rmult_0_r. right. transitivity (P (fun _ => ~ True)).
      * apply (same_event _ _ law). apply (ev_and _ _ law); assumption. intro x. split; [|tauto]. intros [H a].
        rewrite a, T in H. discriminate.
      * rewrite (complement _ _ law (fun _ => True)) by (apply (ev_all _ (events _ _ law))). rewrite (whole _ _ law). ring.
  - rewrite (complement _ _ law A A_event). generalize (probability_likely _ _ law A A_event). intro B.
    assert (0 <= P (fun x => chosen x k = true /\ ~ A x)) by (apply (not_negative _ _ law); apply (ev_and _ _ law); assumption).
    apply (Rmult_le_reg_r (1 - P A)). lra. replace (_ / (1 - P A) * (1 - P A)) with (P (fun x => chosen x k = true /\ ~ A x)) by
      (field; lra).
    nra.
Qed.
End True_set.

(** The noisy score is a point of T, with the laws E and E' of neighbours, as close as (epsilon0, delta0) in every event; P t
   and Q t are the laws of what is sent then, one law where nothing is sent, else as close as (epsilon_loc, delta_loc). The
   server sees what is sent and the score: an event is one of what is sent for each score. An event that is the same for all
   scores is one of a server that does not see the score. *)
Theorem FDP_L2_star (T event : Type) F (E E' : (T -> R) -> R) (P Q : T -> event -> R) eps0 delta0 eps_loc delta_loc (A : T ->
  event) :
  functions F -> expectation F E -> expectation F E' -> 0 <= eps_loc -> 0 <= delta_loc -> (forall t, likely (P t)) -> (forall t,
    likely (Q t)) ->
  close F E E' (exp eps0) delta0 ->
  (forall t, (forall B, P t B = Q t B) \/ within (exp eps_loc) (P t) (Q t) delta_loc) ->
  F (fun t => P t (A t)) -> F (fun t => Q t (A t)) ->
  E (fun t => P t (A t)) - exp (eps0 + eps_loc) * E' (fun t => Q t (A t)) <= delta0 + delta_loc.
Proof.
  intros C L L' He Hd LP LQ K W FP FQ.
  rewrite exp_plus.
  enough (E (fun t => P t (A t)) <= exp eps0 * exp eps_loc * E' (fun t => Q t (A t)) + (delta0 + delta_loc)) by lra.
  apply (two_steps F); try assumption; try (left; apply exp_pos); try (intro t; apply LP || apply LQ).
  intro t. destruct (W t) as [e | w].
  - rewrite e. generalize (proj1 (LQ t (A t))) (exp_ineq1_le eps_loc). intros. nra.
  - specialize (w (A t)). lra.
Qed.

Lemma chance_not_negative densities f (A : look densities) : In f densities -> (forall x, 0 <= f x) -> 0 <= chance f A.
Proof.
  intros I H. unfold chance. apply RInt_ge_0. apply ordered. apply counted; exact I.
  intros x _. apply Rmult_le_pos. apply between. apply H.
Qed.

(** Tests in d dimensions, each on a bounded box. *)
Record look_in (d : nat) (densities : list (list R -> R)) : Type := {
  coin_in : list R -> R; from : R; to : R;
  between_in : forall xs, 0 <= coin_in xs <= 1;
  ordered_in : from <= to;
  counted_in : forall f, In f densities -> integrable d (fun xs => coin_in xs * f xs) }.
Arguments coin_in {d densities}. Arguments from {d densities}. Arguments to {d densities}. Arguments between_in {d densities}.
Arguments ordered_in {d densities}. Arguments counted_in {d densities}.

Definition chance_in {d densities} (f : list R -> R) (A : look_in d densities) : R := box d (fun xs => coin_in A xs * f xs)
  (from A) (to A).

Lemma box_not_negative d : forall f A B, A <= B -> (forall xs, 0 <= f xs) -> integrable d f -> 0 <= box d f A B.
Proof.
  induction d; intros f A B O H; simpl. intros _. apply H. intros [I1 I2]. apply RInt_ge_0. exact O. apply I2.
  intros x _. apply IHd. exact O. intro. apply H. apply I1.
Qed.

Lemma chance_in_not_negative d densities f (A : look_in d densities) : In f densities -> (forall xs,
  0 <= f xs) -> 0 <= chance_in f A.
Proof.
  intros I H. apply box_not_negative. apply ordered_in. intro. apply Rmult_le_pos. apply between_in. apply H. apply counted_in.
    exact I.
Qed.

Lemma below_look_in d densities f g eps e : In f densities -> In g densities -> below_in d f g eps e ->
  @within (look_in d densities) (exp eps) (chance_in f) (chance_in g) e.
Proof.
  intros Hf Hg H A. apply (H (coin_in A) (from A) (to A)); [|apply ordered_in].
  split; [apply between_in|]. split; apply counted_in; assumption.
Qed.

Lemma law_not_negative means s : 0 < s -> forall xs, 0 <= law means s xs.
Proof.
  intro S. induction means as [|m means IH]; intros [|x xs]; simpl; try lra.
  apply Rmult_le_pos. left; apply normal_positive; exact S. apply IH.
Qed.

(** Two mixtures with one part in common. *)
Lemma common_part (event : Type) (P Q H : event -> R) p lambda d : 0 <= p <= 1 -> 1 <= lambda -> (forall A, 0 <= H A) ->
  within lambda P Q d -> within lambda (mixed p P H) (mixed p Q H) (p * d).
Proof.
  intros C L N W A. unfold mixed. specialize (W A). specialize (N A).
  assert ((1 - p) * ((lambda - 1) * H A) >= 0) by (apply Rle_ge, Rmult_le_pos; [lra | apply Rmult_le_pos; lra]).
  assert (p * (P A - lambda * Q A) <= p * d) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** Noise of variance v in each coordinate without device k, and v + s with it; x is the difference of two codes, c and c0 what
   is received else. *)
Theorem FDP_T1b_hidden c c0 x v s Delta p eps : length c = length x -> 0 < v -> 0 <= s -> 0 < Delta -> square x <= Delta * Delta
  ->
  0 <= p <= 1 -> 0 <= eps ->
  let one := law (moved c x) (sqrt (v + s)) in
  let other := law c (sqrt (v + s)) in
  let away := law c0 (sqrt v) in
  let event := look_in (length x) [one; other; away] in
  @within event (exp eps) (mixed p (chance_in one) (chance_in away)) (mixed p (chance_in other) (chance_in away))
    (p * delta (Delta / sqrt (v + s)) eps) /\
  @within event (exp eps) (mixed p (chance_in other) (chance_in away)) (mixed p (chance_in one) (chance_in away))
    (p * delta (Delta / sqrt (v + s)) eps).
Proof.
  intros Lc V S D X C E one other away event. assert (R0 : 0 < sqrt (v + s)) by (apply sqrt_lt_R0; lra).
  assert (L1 : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra).
  assert (N : forall A : event, 0 <= chance_in away A).
  { intro A. apply chance_in_not_negative. simpl; auto. apply law_not_negative. apply sqrt_lt_R0. exact V. }
  destruct (both_orders c x (sqrt (v + s)) (Delta / sqrt (v + s)) eps R0 Lc) as [B B'].
  - apply Rdiv_lt_0_compat; assumption.
  - replace (Delta / sqrt (v + s) * sqrt (v + s) * (Delta / sqrt (v + s) * sqrt (v + s))) with (Delta * Delta) by (field; lra).
    exact X.
  - split; apply common_part; try assumption; apply below_look_in; simpl; auto.
Qed.

(** Absent devices send their noise: after scaling the laws are normal with the variance 1. *)
Section Half_line.
Variables (f g : R -> R) (lambda c above_f above_g : R).
Hypothesis f_integrable : forall a b, ex_RInt f a b.
Hypothesis g_integrable : forall a b, ex_RInt g a b.
Hypothesis left_of : forall x, x <= c -> f x <= lambda * g x.
Hypothesis right_of : forall x, c <= x -> lambda * g x <= f x.
Hypothesis f_tail : is_lim (fun b => RInt f c b) p_infty above_f.
Hypothesis g_tail : is_lim (fun b => RInt g c b) p_infty above_g.

Let h x := f x - lambda * g x.

Lemma h_integrable a b : ex_RInt h a b.
Proof.
  apply (ex_RInt_minus (V := R_NormedModule) f (fun x => lambda * g x)). apply f_integrable.
  apply (ex_RInt_scal (V := R_NormedModule) g). apply g_integrable.
Qed.

Lemma h_integral a b : RInt h a b = RInt f a b - lambda * RInt g a b.
Proof.
  unfold h. rewrite <- (scaled g) by apply g_integrable. apply (difference f (fun x => lambda * g x)). apply f_integrable.
  apply (ex_RInt_scal (V := R_NormedModule) g). apply g_integrable.
Qed.

Lemma h_rises a b : c <= a -> a <= b -> RInt h c a <= RInt h c b.
Proof.
  intros A B. rewrite <- (RInt_Chasles h c a b); try apply h_integrable. unfold plus; simpl.
  assert (0 <= RInt h a b). { apply RInt_ge_0. exact B. apply h_integrable. intros x X. unfold h.
    generalize (right_of x ltac:(lra)). lra. }
  lra.
Qed.

Lemma h_limit : is_lim (fun b => RInt h c b) p_infty (above_f - lambda * above_g).
Proof.
  apply (is_lim_ext (fun b => RInt f c b - lambda * RInt g c b)). intro; symmetry; apply h_integral.
  apply is_lim_minus'. exact f_tail. apply (is_lim_scal_l _ lambda p_infty above_g). exact g_tail.
Qed.

Lemma h_at_most b : c <= b -> RInt h c b <= above_f - lambda * above_g.
Proof.
  intro B. apply (is_lim_le_loc (fun _ => RInt h c b) (fun y => RInt h c y) p_infty (RInt h c b) (above_f - lambda * above_g)).
  - exists b. intros y Y. apply h_rises; lra.
  - apply is_lim_const.
  - apply h_limit.
Qed.

(** The best test is the half-line above c. *)
Theorem half_line : @divergence (look [f; g]) lambda (chance f) (chance g) (above_f - lambda * above_g).
Proof.
  split.
  - intros x [A ->]. set (phi := coin A).
    assert (If : forall a b, ex_RInt (fun x => phi x * f x) a b) by (apply counted; simpl; auto).
    assert (Ig : forall a b, ex_RInt (fun x => phi x * g x) a b) by (apply counted; simpl; auto).
    set (t := fun x => phi x * f x - lambda * (phi x * g x)).
    assert (It : forall a b, ex_RInt t a b).
    { intros. apply (ex_RInt_minus (V := R_NormedModule) (fun x => phi x * f x) (fun x => lambda * (phi x * g x))). apply If.
      apply (ex_RInt_scal (V := R_NormedModule) (fun x => phi x * g x)). apply Ig. }
    assert (Et : forall a b, RInt t a b = RInt (fun x => phi x * f x) a b - lambda * RInt (fun x => phi x * g x) a b).
    { intros. unfold t. rewrite <- (scaled (fun x => phi x * g x)) by apply Ig.
      apply (difference (fun x => phi x * f x) (fun x => lambda * (phi x * g x))). apply If.
      apply (ex_RInt_scal (V := R_NormedModule) (fun x => phi x * g x)). apply Ig. }
    unfold chance. fold phi. rewrite <- Et.
    assert (D0 : 0 <= above_f - lambda * above_g).
    { generalize (h_at_most c (Rle_refl c)). rewrite RInt_point. unfold zero; simpl. trivial. }
    assert (Left : forall a b, a <= b -> b <= c -> RInt t a b <= 0).
    { intros a b O B. replace 0 with (RInt (fun _ => 0) a b) by (rewrite RInt_const; unfold scal; simpl; unfold mult; simpl;
      ring).
      apply RInt_le; try easy. apply ex_RInt_const. intros x X. unfold t.
      generalize (left_of x ltac:(lra)) (between A x). fold phi. intros. nra. }
    assert (Right : forall a b, c <= a -> a <= b -> RInt t a b <= above_f - lambda * above_g).
    { intros a b O B. apply Rle_trans with (RInt h a b).
      - apply RInt_le; try easy. apply h_integrable. intros x X. unfold t, h.
        generalize (right_of x ltac:(lra)) (between A x). fold phi. intros. nra.
      - apply Rle_trans with (RInt h c b); [|apply h_at_most; lra].
        rewrite <- (RInt_Chasles h c a b); try apply h_integrable. unfold plus; simpl.
        generalize (h_rises c a (Rle_refl c) O). rewrite RInt_point. unfold zero; simpl. lra. }
    generalize (ordered A). intro O.
    destruct (Rle_dec (high A) c) as [H|H]. apply Rle_trans with 0; [apply Left; assumption | exact D0].
    destruct (Rle_dec c (low A)) as [K|K]. apply Right; assumption.
    rewrite <- (RInt_Chasles t (low A) c (high A)); try apply It. unfold plus; simpl.
    generalize (Left (low A) c ltac:(lra) ltac:(lra)) (Right c (high A) ltac:(lra) ltac:(lra)). lra.
  - intros b B. apply (is_lim_le_loc (fun y => RInt h c y) (fun _ => b) p_infty (above_f - lambda * above_g) b).
    + exists c. intros y Y. apply B.
      assert (C : forall k, In k [f; g] -> forall u v, ex_RInt (fun x => 1 * k x) u v).
      { intros k K u v. apply (ex_RInt_ext k). intros; symmetry; apply Rmult_1_l.
        destruct K as [<- | [<- | []]]; [apply f_integrable | apply g_integrable]. }
      exists {| coin := fun _ => 1; low := c; high := y; between := fun _ => conj Rle_0_1 (Rle_refl 1);
        ordered := Rlt_le _ _ Y; counted := C |}.
      unfold chance; simpl. rewrite h_integral. f_equal; [|f_equal]; apply RInt_ext; intros; symmetry; apply Rmult_1_l.
    + apply h_limit.
    + apply is_lim_const.
Qed.
End Half_line.

(* A normal law and N(0, 1) in the shares p and 1 - p. *)
Definition partly (p a x : R) : R := p * n (x - a) + (1 - p) * n x.

Lemma added f g a b : ex_RInt f a b -> ex_RInt g a b -> RInt (fun x => f x + g x) a b = RInt f a b + RInt g a b.
Proof. intros Hf Hg. exact (RInt_plus (V := R_CompleteNormedModule) f g a b Hf Hg). Qed.

Lemma times_integrable k f a b : ex_RInt f a b -> ex_RInt (fun x => k * f x) a b.
Proof. exact (ex_RInt_scal (V := R_NormedModule) f a b k). Qed.

Lemma partly_integrable p a u v : ex_RInt (partly p a) u v.
Proof.
  apply (ex_RInt_plus (V := R_NormedModule) (fun x => p * n (x - a)) (fun x => (1 - p) * n x)).
  apply (ex_RInt_scal (V := R_NormedModule)). apply shifted_integrable. apply (ex_RInt_scal (V := R_NormedModule)).
    apply n_integrable.
Qed.

Lemma partly_tail p a c : is_lim (fun b => RInt (partly p a) c b) p_infty (p * tail (c - a) + (1 - p) * tail c).
Proof.
  apply (is_lim_ext (fun b => p * RInt n (c - a) (1 * b + - a) + (1 - p) * RInt n c b)).
  - intro b. unfold partly.
    rewrite (added (fun x => p * n (x - a)) (fun x => (1 - p) * n x));
      [|apply times_integrable; apply shifted_integrable | apply times_integrable; apply n_integrable].
    rewrite (scaled (fun x => n (x - a))) by apply shifted_integrable. rewrite (scaled n) by apply n_integrable.
    rewrite shift. f_equal. f_equal. f_equal. ring.
  - apply is_lim_plus'; apply (is_lim_scal_l _ _ p_infty (Finite (tail _))).
    + apply (is_lim_comp_lin (fun b => RInt n (c - a) b) 1 (- a) p_infty (tail (c - a))); [|lra].
      replace (Rbar_plus (Rbar_mult 1 p_infty) (- a)) with p_infty. apply tail_is_lim.
      simpl. destruct (Rle_dec 0 1) as [P|P]; [|lra]. destruct (Rle_lt_or_eq_dec 0 1 P); [reflexivity | lra].
    + apply tail_is_lim.
Qed.

Lemma partly_mirrored p a x : partly p a (- x) = partly p (- a) x.
Proof. unfold partly. rewrite n_even. replace (- x - a) with (- (x - - a)) by ring. rewrite n_even. reflexivity. Qed.

(* Where the ratio of the two mixtures is lambda. *)
Lemma crossing p a lambda : 0 < a -> 0 < p <= 1 -> 1 <= lambda -> exists c,
  (forall x, x <= c -> partly p a x <= lambda * partly p (- a) x) /\ (forall x,
    c <= x -> lambda * partly p (- a) x <= partly p a x).
Proof.
  intros A P L. set (k := exp (- (a * a / 2))). assert (K : 0 < k) by apply exp_pos.
  assert (R : forall x, partly p a x - lambda * partly p (- a) x
    = n x * (p * k * exp (a * x) - lambda * (p * k * exp (- (a * x))) - (lambda - 1) * (1 - p))).
  { intro x. unfold partly. rewrite !ratio. unfold k. rewrite !Rmult_minus_distr_l.
    replace (a * x - a * a / 2) with (a * x + - (a * a / 2)) by ring. replace (- a * x - - a * - a / 2) with (- (a * x) + - (a *
      a / 2)) by field.
    rewrite !exp_plus. ring. }
  set (r := fun x => p * k * exp (a * x) - lambda * (p * k * exp (- (a * x))) - (lambda - 1) * (1 - p)) in *.
  assert (Q : 0 < p * k) by (apply Rmult_lt_0_compat; lra).
  assert (Up : forall x y, x <= y -> r x <= r y).
  { intros x y H. unfold r.
    assert (exp (a * x) <= exp (a * y)) by (apply exp_rises; nra). assert (exp (- (a * y)) <= exp (- (a * x))) by (apply
      exp_rises; nra).
    assert (p * k * exp (a * x) <= p * k * exp (a * y)) by (apply Rmult_le_compat_l; lra).
    assert (lambda * (p * k * exp (- (a * y))) <= lambda * (p * k * exp (- (a * x)))) by (apply Rmult_le_compat_l; [lra|];
      apply Rmult_le_compat_l; lra).
    lra. }
  (* t = exp (a c) is a root of p k t^2 - (lambda - 1)(1 - p) t - lambda p k *)
  set (b := (lambda - 1) * (1 - p)) in *. assert (B : 0 <= b) by (unfold b; apply Rmult_le_pos; lra).
  set (s := sqrt (b * b + 4 * lambda * (p * k) * (p * k))).
  assert (D : 0 < b * b + 4 * lambda * (p * k) * (p * k)).
  { assert (0 < 4 * lambda * (p * k) * (p * k)) by (repeat apply Rmult_lt_0_compat; lra). nra. }
  assert (S : s * s = b * b + 4 * lambda * (p * k) * (p * k)) by (apply sqrt_sqrt; lra).
  assert (S0 : 0 < s) by (apply sqrt_lt_R0; exact D).
  set (t := (b + s) / (2 * (p * k))). assert (T : 0 < t) by (apply Rdiv_lt_0_compat; lra).
  assert (Z : r (ln t / a) = 0).
  { unfold r. replace (a * (ln t / a)) with (ln t) by (field; lra). rewrite exp_Ropp, exp_ln by exact T.
    apply (Rmult_eq_reg_r t); [|lra].
    replace ((p * k * t - lambda * (p * k * / t) - b) * t) with (p * k * t * t - lambda * (p * k) - b * t) by (field; lra).
    rewrite Rmult_0_l. unfold t. apply (Rmult_eq_reg_r (4 * (p * k))); [|lra].
    replace ((p * k * ((b + s) / (2 * (p * k))) * ((b + s) / (2 * (p * k))) - lambda * (p * k) - b * ((b + s) / (2 * (p * k))))
      * (4 * (p * k)))
      with (s * s - b * b - 4 * lambda * (p * k) * (p * k)) by (field; lra). rewrite S. ring. }
  exists (ln t / a). split; intros x H; generalize (R x) (n_positive x); intros E N.
  - generalize (Up _ _ H). rewrite Z. intro. fold (r x) in E. assert (n x * r x <= 0) by nra. lra.
  - generalize (Up _ _ H). rewrite Z. intro. fold (r x) in E. assert (0 <= n x * r x) by nra. lra.
Qed.

(* A test seen in a mirror. *)
Lemma mirrored_within (f g : R -> R) lambda d :
  @within (look [f; g]) lambda (chance f) (chance g) d ->
  @within (look [fun x => f (- x); fun x => g (- x)]) lambda (chance (fun x => f (- x))) (chance (fun x => g (- x))) d.
Proof.
  intros W A. set (phi := coin A).
  assert (K : forall F : R -> R, (forall a b, ex_RInt (fun x => phi x * F (- x)) a b) ->
            (forall a b, ex_RInt (fun x => phi (- x) * F x) a b) /\
            chance (fun x => F (- x)) A = RInt (fun x => phi (- x) * F x) (0 - high A) (0 - low A)).
  { intros F IF.
    assert (E : forall a b, ex_RInt (fun x => phi (- x) * F x) a b).
    { intros a b. apply (ex_RInt_ext (fun x => (fun y => phi y * F (- y)) (0 - x))).
      - intros x _. cbv beta. replace (0 - x) with (- x) by ring. rewrite Ropp_involutive. reflexivity.
      - apply (reflected_integrable (fun y => phi y * F (- y))). apply IF. }
    split. exact E. unfold chance. fold phi.
    rewrite <- (reflected_integral (fun x => phi (- x) * F x) 0 (low A) (high A)) by apply E.
    apply RInt_ext. intros x _. replace (0 - x) with (- x) by ring. rewrite Ropp_involutive. reflexivity. }
  destruct (K f) as [If Ef]. apply (counted A (fun x => f (- x))). simpl; auto.
  destruct (K g) as [Ig Eg]. apply (counted A (fun x => g (- x))). simpl; auto.
  rewrite Ef, Eg.
  assert (C : forall h, In h [f; g] -> forall a b, ex_RInt (fun x => phi (- x) * h x) a b) by (intros h [<- | [<- | []]];
    assumption).
  assert (O : 0 - high A <= 0 - low A) by (generalize (ordered A); lra).
  exact (W {| coin := fun x => phi (- x); low := 0 - high A; high := 0 - low A; between := fun x => between A (- x);
    ordered := O; counted := C |}).
Qed.

(** One device that is there with probability p, or not: exactly p delta_G in one order, and no more in the other. Opposite
   codes of distance mu: the best test is a half-line in either order. *)
Theorem FDP_T1d mu eps p : 0 < mu -> 0 <= eps -> 0 < p <= 1 ->
  let eps' := ln (1 + p * (exp eps - 1)) in
  let there := fun x => n (x - mu) in
  (@divergence (look [there; n]) (exp eps') (mixed p (chance there) (chance n)) (chance n) (p * delta mu eps) /\
   @within (look [there; n]) (exp eps') (chance n) (mixed p (chance there) (chance n)) (p * delta mu eps)) /\
  exists c, let d := p * tail (c - mu / 2) + (1 - p) * tail c - exp eps * (p * tail (c + mu / 2) + (1 - p) * tail c) in
    @divergence (look [partly p (mu / 2); partly p (- (mu / 2))]) (exp eps) (chance (partly p (mu / 2))) (chance (partly p (-
      (mu / 2)))) d /\
    @divergence (look [partly p (- (mu / 2)); partly p (mu / 2)]) (exp eps) (chance (partly p (- (mu / 2)))) (chance (partly p
      (mu / 2))) d.
Proof.
  intros M E P eps' there.
  assert (L : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra).
  assert (X : exp eps' = 1 + p * (exp eps - 1)) by (unfold eps'; rewrite exp_ln; nra).
  split; [split|].
  - rewrite X. apply mixture_divergence. lra. apply delta_divergence. exact M.
  - rewrite X. apply mixture_reversed; try assumption; try lra.
    + apply delta_not_negative. exact M.
    + intro A. apply chance_not_negative. simpl; auto. intro x. left; apply n_positive.
    + intro A. apply chance_not_negative. simpl; auto. intro x. left; apply n_positive.
    + apply below_look; simpl; auto. apply exact_curve_reversed. exact M. lra.
  - destruct (crossing p (mu / 2) (exp eps)) as [c [Lo Hi]]; try lra. exists c.
    assert (D : @divergence (look [partly p (mu / 2); partly p (- (mu / 2))]) (exp eps) (chance (partly p (mu / 2)))
      (chance (partly p (- (mu / 2)))) (p * tail (c - mu / 2) + (1 - p) * tail c - exp eps * (p * tail (c + mu / 2) + (1 - p) *
        tail c))).
    { apply (half_line _ _ _ c); try assumption; try apply partly_integrable. apply partly_tail.
      replace (c + mu / 2) with (c - - (mu / 2)) by ring. apply partly_tail. }
    split. exact D.
    assert (M1 : (fun x => partly p (mu / 2) (- x)) = partly p (- (mu / 2)))
      by (apply FunctionalExtensionality.functional_extensionality; apply partly_mirrored).
    assert (M2 : (fun x => partly p (- (mu / 2)) (- x)) = partly p (mu / 2)).
    { apply FunctionalExtensionality.functional_extensionality. intro x. rewrite partly_mirrored, Ropp_involutive. reflexivity. }
    apply within_divergence. intro e. rewrite <- (divergence_within _ _ _ _ e D). split; intro W; apply mirrored_within in W.
    + rewrite M1, M2 in W. exact W.
    + rewrite M1, M2 in W. exact W.
Qed.

(** Scheme 2.2: noisy scores, of which the lowest are selected. *)
Section Pairs.
Variables (W : Type) (ev : (W -> Prop) -> Prop) (P : (W -> Prop) -> R).
Hypothesis law : probability ev P.

(** X has the law N(m, s^2). *)
Definition is_normal (X : W -> R) (m s : R) : Prop := 0 < s /\ forall a,
  ev (fun x => X x <= a) /\ P (fun x => X x <= a) = Phi ((a - m) / s).

Definition independent (X Y : W -> R) : Prop :=
  forall a b, P (fun x => X x <= a /\ Y x <= b) = P (fun x => X x <= a) * P (fun x => Y x <= b).

Lemma ev_then A B : ev A -> (forall x, A x <-> B x) -> ev B.
Proof. apply (ev_same _ (events _ _ law)). Qed.

Lemma Phi_difference a b : Phi b - Phi a = RInt n a b.
Proof.
  unfold Phi. rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) n 0 a b) by apply n_integrable. unfold plus; simpl. ring.
Qed.

Section Pair.
Variables (X Y : W -> R) (m1 s1 m2 s2 : R).
Hypothesis X_normal : is_normal X m1 s1.
Hypothesis Y_normal : is_normal Y m2 s2.
Hypothesis apart : independent X Y.
Hypothesis lower_event : ev (fun x => X x < Y x).
Hypothesis at_most_event : ev (fun x => X x <= Y x).

Let y (z : R) : R := m2 + s2 * z.
Let alpha := - (s2 / s1).
Let beta := (m1 - m2) / s1.
Let cell (a b : R) (x : W) : Prop := y a < Y x <= y b.

Lemma X_below z : P (fun x => X x <= y z) = tail (alpha * z + beta).
Proof.
  destruct X_normal as [S1 H]. rewrite (proj2 (H _)), Phi_tail. f_equal. unfold y, alpha, beta. field. lra.
Qed.

Lemma Y_below z : P (fun x => Y x <= y z) = Phi z.
Proof. destruct Y_normal as [S2 H]. rewrite (proj2 (H _)). f_equal. unfold y. field. lra. Qed.

Lemma X_event a : ev (fun x => X x <= a).
Proof. apply X_normal. Qed.

Lemma Y_event a : ev (fun x => Y x <= a).
Proof. apply Y_normal. Qed.

Lemma y_rises a b : a <= b -> y a <= y b.
Proof. intro H. unfold y. destruct Y_normal as [S2 _]. assert (s2 * a <= s2 * b) by (apply Rmult_le_compat_l; lra). lra. Qed.

Lemma cell_event a b : ev (cell a b).
Proof.
  apply (ev_then (fun x => Y x <= y b /\ ~ Y x <= y a)).
  - apply (ev_and _ _ law). apply Y_event. apply (ev_not _ (events _ _ law)). apply Y_event.
  - intro x. unfold cell. split; intros [U V]; split; lra.
Qed.

(* X is at most a bound, and Y in a cell. *)
Lemma rectangle c a b : a <= b -> P (fun x => X x <= y c /\ cell a b x) = tail (alpha * c + beta) * (Phi b - Phi a).
Proof.
  intro O. generalize (split_event _ _ law (fun x => X x <= y c /\ Y x <= y b) (fun x => Y x <= y a)
    (ev_and _ _ law _ _ (X_event _) (Y_event _)) (Y_event _)). intro H.
  rewrite (apart (y c) (y b)), X_below, Y_below in H.
  rewrite (same_event _ _ law (fun x => (X x <= y c /\ Y x <= y b) /\ Y x <= y a) (fun x => X x <= y c /\ Y x <= y a)) in H.
  - rewrite (apart (y c) (y a)), X_below, Y_below in H.
    rewrite (same_event _ _ law (fun x => (X x <= y c /\ Y x <= y b) /\ ~ Y x <= y a) (fun x => X x <= y c /\ cell a b x)) in H.
      lra.
    + apply (ev_and _ _ law). apply (ev_and _ _ law); [apply X_event | apply Y_event]. apply (ev_not _ (events _ _ law)).
      apply Y_event.
    + intro x. unfold cell. split; [intros [[U V] N] | intros [U [N V]]]; repeat split; lra.
  - apply (ev_and _ _ law); [apply (ev_and _ _ law); [apply X_event | apply Y_event] | apply Y_event].
  - intro x. generalize (y_rises a b O). split; [intros [[U V] N] | intros [U V]]; repeat split; lra.
Qed.

Let f z := n z * tail (alpha * z + beta).

Lemma f_integrable' a b : ex_RInt f a b.
Proof. apply product_0_integrable. Qed.

Lemma alpha_negative : alpha < 0.
Proof. unfold alpha. destruct X_normal as [S1 _], Y_normal as [S2 _]. assert (0 < s2 / s1) by (apply Rdiv_lt_0_compat;
  assumption). lra. Qed.

Lemma cell_integral a b : a <= b ->
  tail (alpha * a + beta) * (Phi b - Phi a) <= RInt f a b <= tail (alpha * b + beta) * (Phi b - Phi a).
Proof.
  intro O. generalize alpha_negative. intro N. rewrite Phi_difference. unfold f. split.
  - rewrite <- scaled by apply n_integrable. apply RInt_le. exact O. apply times_integrable. apply n_integrable.
    apply f_integrable'.
    intros x H. rewrite Rmult_comm. apply Rmult_le_compat_l. left; apply n_positive. apply tail_falls. nra.
  - rewrite <- scaled by apply n_integrable. apply RInt_le. exact O. apply f_integrable'. apply times_integrable.
    apply n_integrable.
    intros x H. rewrite (Rmult_comm _ (n x)). apply Rmult_le_compat_l. left; apply n_positive. apply tail_falls. nra.
Qed.

Lemma root_at_least_1 : 1 <= sqrt (2 * PI).
Proof. rewrite <- sqrt_1. apply sqrt_le_1_alt. generalize PI2_1. lra. Qed.

Lemma steep a h : 0 <= h -> tail (alpha * (a + h) + beta) - tail (alpha * a + beta) <= - alpha * h.
Proof.
  intro H. generalize alpha_negative. intro N.
  generalize (tail_between (alpha * (a + h) + beta) (alpha * a + beta) ltac:(nra)). intro T. apply Rle_trans with (1 := T).
  replace (alpha * a + beta - (alpha * (a + h) + beta)) with (- alpha * h) by ring.
  apply (Rmult_le_reg_r (sqrt (2 * PI))). apply root_positive. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l by (generalize root_positive; lra).
  assert (0 <= - alpha * h) by nra. generalize root_at_least_1. nra.
Qed.

(* k cells of the width h from a on *)
Lemma cells a h k : 0 <= h ->
  RInt f a (a + INR k * h) - - alpha * h * (Phi (a + INR k * h) - Phi a) <= P (fun x => X x < Y x /\ cell a (a + INR k * h) x) /\
  P (fun x => X x <= Y x /\ cell a (a + INR k * h) x) <= RInt f a (a + INR k * h) + - alpha * h * (Phi (a + INR k * h) - Phi a).
Proof.
  intro H. induction k as [|k [L U]].
  - simpl. replace (a + 0 * h) with a by ring. rewrite RInt_point. unfold zero; simpl.
    assert (Z : forall Q : W -> Prop, ev Q -> P (fun x => Q x /\ cell a a x) = 0).
    { intros Q EQ. transitivity (P (fun _ => ~ True)).
      - apply (same_event _ _ law). apply (ev_and _ _ law). exact EQ. apply cell_event. intro x. unfold cell.
        split; [lra | tauto].
      - rewrite (complement _ _ law (fun _ => True)) by apply (ev_all _ (events _ _ law)). rewrite (whole _ _ law). ring. }
    rewrite !Z by assumption. lra.
  - rewrite S_INR. set (b := a + INR k * h) in *. replace (a + (INR k + 1) * h) with (b + h) by (unfold b; ring).
    assert (B : a <= b) by (unfold b; generalize (pos_INR k); nra).
    generalize (y_rises a b B) (y_rises b (b + h) ltac:(lra)). intros Ya Yb.
    assert (D : forall Q : W -> Prop, ev Q -> P (fun x => Q x /\ cell a (b + h) x)
      = P (fun x => Q x /\ cell a b x) + P (fun x => Q x /\ cell b (b + h) x)).
    { intros Q EQ. rewrite <- (add _ _ law).
      - apply (same_event _ _ law). apply (ev_and _ _ law). exact EQ. apply cell_event.
        intro x. unfold cell. split; [intros [q [u v]] | intros [[q [u v]] | [q [u v]]]]; [|repeat split; lra || assumption ..].
        destruct (Rle_dec (Y x) (y b)); [left | right]; repeat split; lra || assumption.
      - apply (ev_and _ _ law). exact EQ. apply cell_event.
      - apply (ev_and _ _ law). exact EQ. apply cell_event.
      - unfold cell. intros x [_ [_ v]] [_ [u _]]. lra. }
    rewrite !D by assumption.
    rewrite <- (RInt_Chasles f a b (b + h)) by apply f_integrable'. unfold plus; simpl.
    destruct (cell_integral b (b + h) ltac:(lra)) as [I1 I2]. generalize (steep b h H). intro S.
    assert (M : 0 <= Phi (b + h) - Phi b) by (generalize (Phi_rises b (b + h) ltac:(lra)); lra).
    assert (V : tail (alpha * b + beta) * (Phi (b + h) - Phi b) <= P (fun x => X x < Y x /\ cell b (b + h) x)).
    { rewrite <- rectangle by lra. apply (probability_rises _ _ law).
      - apply (ev_and _ _ law). apply X_event. apply cell_event.
      - apply (ev_and _ _ law). exact lower_event. apply cell_event.
      - intros x [u [v w]]. split; [lra | split; assumption]. }
    assert (V' : P (fun x => X x <= Y x /\ cell b (b + h) x) <= tail (alpha * (b + h) + beta) * (Phi (b + h) - Phi b)).
    { rewrite <- rectangle by lra. apply (probability_rises _ _ law).
      - apply (ev_and _ _ law). exact at_most_event. apply cell_event.
      - apply (ev_and _ _ law). apply X_event. apply cell_event.
      - intros x [u [v w]]. split; [lra | split; assumption]. }
    split; nra.
Qed.

Lemma pair_near B k : 0 < B -> (0 < k)%nat -> let e := - alpha * (2 * B / INR k) in
  RInt f (- B) B - e <= P (fun x => X x < Y x) /\ P (fun x => X x <= Y x) <= RInt f (- B) B + e + 2 * tail B.
Proof.
  intros HB K e. assert (K0 : 0 < INR k) by (apply lt_0_INR; exact K). set (h := 2 * B / INR k).
  assert (H : 0 < h) by (apply Rdiv_lt_0_compat; lra).
  destruct (cells (- B) h k (Rlt_le _ _ H)) as [L U]. replace (- B + INR k * h) with B in L, U by (unfold h; field; lra).
  generalize (Phi_between B) (Phi_between (- B)) (Phi_rises (- B) B ltac:(lra)) alpha_negative. intros B1 B2 B3 N.
  assert (E : - alpha * h * (Phi B - Phi (- B)) <= e).
  { unfold e. fold h. rewrite <- (Rmult_1_r (- alpha * h)) at 2. apply Rmult_le_compat_l; nra. }
  split.
  - apply Rle_trans with (P (fun x => X x < Y x /\ cell (- B) B x)). lra.
    apply (probability_rises _ _ law). apply (ev_and _ _ law); [exact lower_event | apply cell_event]. exact lower_event. tauto.
  - assert (C : P (fun x => ~ cell (- B) B x) = 2 * tail B).
    { rewrite (complement _ _ law) by apply cell_event.
      assert (Z : P (cell (- B) B) = Phi B - Phi (- B)).
      { generalize (split_event _ _ law (fun x => Y x <= y B) (fun x => Y x <= y (- B)) (Y_event _) (Y_event _)).
        rewrite Y_below. rewrite (same_event _ _ law (fun x => Y x <= y B /\ Y x <= y (- B)) (fun x => Y x <= y (- B))), Y_below.
        rewrite (same_event _ _ law (fun x => Y x <= y B /\ ~ Y x <= y (- B)) (cell (- B) B)). lra.
        - apply (ev_and _ _ law). apply Y_event. apply (ev_not _ (events _ _ law)). apply Y_event.
        - intro x. unfold cell. split; intros [u v]; split; lra.
        - apply (ev_and _ _ law); apply Y_event.
        - intro x. generalize (y_rises (- B) B ltac:(lra)). split; [tauto | intro; split; lra]. }
      rewrite Z, !Phi_tail, Ropp_involutive. rewrite tail_reflected. ring. }
    rewrite (split_event _ _ law _ _ at_most_event (cell_event (- B) B)).
    assert (P (fun x => X x <= Y x /\ ~ cell (- B) B x) <= 2 * tail B).
    { rewrite <- C. apply (probability_rises _ _ law); try tauto. apply (ev_and _ _ law). exact at_most_event.
      all: apply (ev_not _ (events _ _ law)); apply cell_event. }
    lra.
Qed.

(** The normal difference. *)
Theorem pair_probability : P (fun x => X x < Y x) = Phi ((m2 - m1) / sqrt (s1 * s1 + s2 * s2)) /\
  P (fun x => X x <= Y x) = Phi ((m2 - m1) / sqrt (s1 * s1 + s2 * s2)).
Proof.
  destruct X_normal as [S1 _], Y_normal as [S2 _]. generalize alpha_negative. intro N.
  assert (R : tail (beta / sqrt (1 + alpha * alpha)) = Phi ((m2 - m1) / sqrt (s1 * s1 + s2 * s2))).
  { rewrite Phi_tail. f_equal. unfold beta, alpha.
    replace (1 + - (s2 / s1) * - (s2 / s1)) with ((s1 * s1 + s2 * s2) / (s1 * s1)) by (field; lra).
    rewrite sqrt_div by nra. rewrite sqrt_square by lra. field. split; [|lra].
    apply Rgt_not_eq. apply sqrt_lt_R0. nra. }
  rewrite <- R. clear R.
  assert (Lo : forall B, 0 < B -> RInt f (- B) B <= P (fun x => X x < Y x)).
  { intros B HB. apply le_epsilon. intros e He.
    destruct (archimed_cor1 (e / (- alpha * (2 * B)))) as [k [K K0]]. apply Rdiv_lt_0_compat; nra.
    destruct (pair_near B k HB K0) as [L _]. assert (I0 : 0 < INR k) by (apply lt_0_INR; exact K0).
    assert (- alpha * (2 * B / INR k) <= e).
    { unfold Rdiv. rewrite <- Rmult_assoc. apply (Rmult_lt_compat_l (- alpha * (2 * B))) in K; [|nra].
      replace (- alpha * (2 * B) * (e / (- alpha * (2 * B)))) with e in K by (field; nra). lra. }
    lra. }
  assert (Up : forall B, 0 < B -> P (fun x => X x <= Y x) <= RInt f (- B) B + 2 * tail B).
  { intros B HB. apply le_epsilon. intros e He.
    destruct (archimed_cor1 (e / (- alpha * (2 * B)))) as [k [K K0]]. apply Rdiv_lt_0_compat; nra.
    destruct (pair_near B k HB K0) as [_ U]. assert (I0 : 0 < INR k) by (apply lt_0_INR; exact K0).
    assert (- alpha * (2 * B / INR k) <= e).
    { unfold Rdiv. rewrite <- Rmult_assoc. apply (Rmult_lt_compat_l (- alpha * (2 * B))) in K; [|nra].
      replace (- alpha * (2 * B) * (e / (- alpha * (2 * B)))) with e in K by (field; nra). lra. }
    lra. }
  assert (A : P (fun x => X x < Y x) <= P (fun x => X x <= Y x)) by (apply (probability_rises _ _ law); try assumption; intros;
    lra).
  generalize (tail_of_sum alpha beta). fold f. intro T.
  assert (L : tail (beta / sqrt (1 + alpha * alpha)) <= P (fun x => X x < Y x)).
  { apply (is_lim_le_loc (fun B => RInt f (- B) B) (fun _ => P (fun x => X x < Y x)) p_infty
      (tail (beta / sqrt (1 + alpha * alpha))) (P (fun x => X x < Y x))).
    exists 0. exact Lo. exact T. apply is_lim_const. }
  assert (U : P (fun x => X x <= Y x) <= tail (beta / sqrt (1 + alpha * alpha)) + 2 * 0).
  { apply (is_lim_le_loc (fun _ => P (fun x => X x <= Y x)) (fun B => RInt f (- B) B + 2 * tail B) p_infty
      (P (fun x => X x <= Y x)) (tail (beta / sqrt (1 + alpha * alpha)) + 2 * 0)).
    exists 0. exact Up. apply is_lim_const. apply is_lim_plus'. exact T.
    apply (is_lim_scal_l tail 2 p_infty 0). apply (is_lim_ext (fun B => tail (B - 0))). intro; f_equal; ring.
      apply tail_vanishes. }
  split; lra.
Qed.
End Pair.
End Pairs.

Definition count (l : list nat) (b : nat -> bool) : nat := length (filter b l).

Lemma count_split l b : (count l b + count l (fun j => negb (b j)) = length l)%nat.
Proof. unfold count. induction l as [|j l IH]; simpl. reflexivity. destruct (b j); simpl; lia. Qed.

Lemma count_rises l b c : (forall j, In j l -> b j = true -> c j = true) -> (count l b <= count l c)%nat.
Proof.
  unfold count. induction l as [|j l IH]; simpl; intro H. lia. assert (length (filter b l) <= length (filter c l))%nat by (apply
    IH; auto).
  destruct (b j) eqn:B. rewrite (H j) by auto. simpl. lia. destruct (c j); simpl; lia.
Qed.

(* Some of K devices, none of them k, which is counted. *)
Lemma count_without K k (J : list nat) b : NoDup J -> (forall j, In j J -> (j < K)%nat /\ j <> k) -> (k < K)%nat -> b k = true ->
  (count J b + 1 <= count (seq 0 K) b)%nat.
Proof.
  intros N H Hk B. unfold count. assert (L : (length (k :: filter b J) <= length (filter b (seq 0 K)))%nat).
  { apply NoDup_incl_length.
    - constructor. intro I. apply filter_In in I. destruct I as [I _]. apply (H k I). reflexivity. apply NoDup_filter. exact N.
    - intros j [<- | I]. apply filter_In. split; [apply in_seq; lia | exact B].
      apply filter_In in I. apply filter_In. split; [|apply I]. apply in_seq. destruct (H j (proj1 I)). lia. }
  simpl in L. lia.
Qed.

Fixpoint sum_over (J : list nat) (f : nat -> R) : R := match J with [] => 0 | j :: J => f j + sum_over J f end.

Lemma sum_over_same J f g : (forall j, In j J -> f j = g j) -> sum_over J f = sum_over J g.
Proof. induction J; simpl; intro H. reflexivity. rewrite IHJ, H; auto. Qed.

Lemma sum_over_at_most J f g : (forall j, In j J -> f j <= g j) -> sum_over J f <= sum_over J g.
Proof.
  induction J; simpl; intro H. lra. assert (f a <= g a) by auto. assert (sum_over J f <= sum_over J g) by auto. lra.
Qed.

Lemma sum_over_plus J f g : sum_over J (fun j => f j + g j) = sum_over J f + sum_over J g.
Proof. induction J; simpl. ring. rewrite IHJ. ring. Qed.

Section Scores.
Variables (W : Type) (ev : (W -> Prop) -> Prop) (P : (W -> Prop) -> R).
Hypothesis law : probability ev P.

(** Markov's inequality for the number of events that happen. *)
Lemma markov (b : nat -> W -> bool) J : (forall j, In j J -> ev (fun x => b j x = true)) ->
  forall i C, ev C -> (forall x, C x -> (i <= count J (fun j => b j x))%nat) ->
  INR i * P C <= sum_over J (fun j => P (fun x => C x /\ b j x = true)).
Proof.
  induction J as [|j J IH]; intros E i C EC H.
  - simpl. destruct i as [|i]. simpl. lra.
    right. replace (P C) with 0. ring. symmetry. transitivity (P (fun _ => ~ True)).
    + apply (same_event _ _ law). exact EC. intro x. split; [|tauto]. intro c. specialize (H x c). unfold count in H.
      simpl in H. lia.
    + rewrite (complement _ _ law (fun _ => True)) by apply (ev_all _ (events _ _ law)). rewrite (whole _ _ law). ring.
  - simpl. assert (Ej : ev (fun x => b j x = true)) by (apply E; left; reflexivity).
    assert (EJ : forall l, In l J -> ev (fun x => b l x = true)) by (intros; apply E; right; assumption).
    set (C1 := fun x => C x /\ b j x = true). set (C0 := fun x => C x /\ ~ b j x = true).
    assert (E1 : ev C1) by (apply (ev_and _ _ law); assumption).
    assert (E0 : ev C0) by (apply (ev_and _ _ law); [|apply (ev_not _ (events _ _ law))]; assumption).
    assert (H1 : INR (i - 1) * P C1 <= sum_over J (fun l => P (fun x => C1 x /\ b l x = true))).
    { apply IH; try assumption. intros x [c B]. specialize (H x c). unfold count in *. simpl in H. rewrite B in H. simpl in H.
      lia. }
    assert (H0 : INR i * P C0 <= sum_over J (fun l => P (fun x => C0 x /\ b l x = true))).
    { apply IH; try assumption. intros x [c B]. specialize (H x c). unfold count in *. simpl in H. destruct (b j x). tauto.
      exact H. }
    rewrite (split_event _ _ law C _ EC Ej). fold C1 C0.
    rewrite (sum_over_same J _ (fun l => P (fun x => C1 x /\ b l x = true) + P (fun x => C0 x /\ b l x = true))).
    + rewrite sum_over_plus. assert (INR i <= INR (i - 1) + 1).
      { rewrite <- S_INR. apply le_INR. lia. }
      generalize (not_negative _ _ law _ E1). intro. nra.
    + intros l I. assert (El : ev (fun x => b l x = true)) by (apply EJ; exact I).
      assert (Ea : ev (fun x => C x /\ b l x = true)) by (apply (ev_and _ _ law); assumption).
      rewrite (split_event _ _ law _ _ Ea Ej).
      rewrite (same_event _ _ law _ (fun x => C1 x /\ b l x = true) (ev_and _ _ law _ _ Ea Ej)) by (unfold C1; intro; tauto).
      rewrite (same_event _ _ law _ (fun x => C0 x /\ b l x = true) (ev_and _ _ law _ _ Ea (ev_not _ (events _ _ law) _ Ej)))
        by (unfold C0; intro; tauto). reflexivity.
Qed.

Variables (K : nat) (X : nat -> W -> R) (u s : nat -> R).
Hypothesis scores : forall j, (j < K)%nat -> is_normal W ev P (X j) (u j) (s j).
Hypothesis pairs : forall i j, (i < K)%nat -> (j < K)%nat -> i <> j -> independent W P (X i) (X j).
Hypothesis compared : forall i j, (i < K)%nat -> (j < K)%nat -> ev (fun x => X i x <= X j x).

Lemma below_event i j : (i < K)%nat -> (j < K)%nat -> ev (fun x => X i x < X j x).
Proof.
  intros I J. apply (ev_same _ (events _ _ law) (fun x => ~ X j x <= X i x)). apply (ev_not _ (events _ _ law)). auto. intro x.
    split; lra.
Qed.

(* The probability that the score of i is below that of j. *)
Definition q (i j : nat) : R := Phi ((u j - u i) / sqrt (s i * s i + s j * s j)).

Lemma pair_q i j : (i < K)%nat -> (j < K)%nat -> i <> j -> P (fun x => X i x < X j x) = q i j /\ P (fun x => X i x <= X j x) = q
  i j.
Proof.
  intros I J N. apply (pair_probability W ev P law (X i) (X j)); auto. apply below_event; assumption.
Qed.

(** Of K devices the m with the lowest noisy scores are selected, however ties are broken. *)
Definition selects (m : nat) (chosen : W -> nat -> bool) : Prop := forall x, count (seq 0 K) (chosen x) = m /\
  forall i j, (i < K)%nat -> (j < K)%nat -> chosen x i = true -> chosen x j = false -> X i x <= X j x.

(** J is any m + i - 1 of the others; those of least 1 - q_j give the row's bound, and the least over i. *)
Theorem FDP_T3_star_upper m chosen k (i : nat) J : selects m chosen -> (k < K)%nat -> ev (fun x => chosen x k = true) ->
  NoDup J -> (forall j, In j J -> (j < K)%nat /\ j <> k) -> (1 <= i)%nat -> length J = (m + i - 1)%nat ->
  P (fun x => chosen x k = true) <= / INR i * sum_over J (fun j => 1 - q j k).
Proof.
  intros S Hk Ek N HJ Hi L. assert (I0 : 0 < INR i) by (apply lt_0_INR; lia).
  set (b := fun (j : nat) (x : W) => if Rle_dec (X k x) (X j x) then true else false).
  assert (Bt : forall j x, b j x = true <-> X k x <= X j x).
  { intros j x. unfold b. destruct (Rle_dec _ _); split; intro; try assumption; try reflexivity; try discriminate; lra. }
  assert (Eb : forall j, In j J -> ev (fun x => b j x = true)).
  { intros j I. apply (ev_same _ (events _ _ law) (fun x => X k x <= X j x)). apply compared; [exact Hk | apply (HJ j I)].
    intro x. symmetry. apply Bt. }
  assert (M : INR i * P (fun x => chosen x k = true) <= sum_over J (fun j => 1 - q j k)).
  { apply Rle_trans with (sum_over J (fun j => P (fun x => chosen x k = true /\ b j x = true))).
    - apply markov; try assumption. intros x C. destruct (S x) as [T O].
      generalize (count_without K k J (chosen x) N HJ Hk C) (count_split J (chosen x)). rewrite T, L. intros.
      apply Nat.le_trans with (count J (fun j => negb (chosen x j))). lia.
      apply count_rises. intros j I F. apply Bt. apply (O k j); try assumption. apply (HJ j I).
      destruct (chosen x j); [discriminate | reflexivity].
    - apply sum_over_at_most. intros j I. destruct (HJ j I) as [Hj Nj].
      rewrite <- (proj1 (pair_q j k Hj Hk Nj)). rewrite <- (complement _ _ law) by (apply below_event; assumption).
      apply (probability_rises _ _ law).
      + apply (ev_and _ _ law); auto.
      + apply (ev_not _ (events _ _ law)). apply below_event; assumption.
      + intros x [_ B]. apply Bt in B. lra. }
  apply (Rmult_le_reg_l (INR i)). exact I0. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact M.
Qed.

Theorem FDP_T3_star_lower m chosen k (i : nat) J : selects m chosen -> (k < K)%nat -> ev (fun x => chosen x k = true) ->
  NoDup J -> (forall j, In j J -> (j < K)%nat /\ j <> k) -> (1 <= i)%nat -> length J = (K - m + i - 1)%nat ->
  1 - P (fun x => chosen x k = true) <= / INR i * sum_over J (fun j => q j k).
Proof.
  intros S Hk Ek N HJ Hi L. assert (I0 : 0 < INR i) by (apply lt_0_INR; lia).
  set (b := fun (j : nat) (x : W) => if Rle_dec (X j x) (X k x) then true else false).
  assert (Bt : forall j x, b j x = true <-> X j x <= X k x).
  { intros j x. unfold b. destruct (Rle_dec _ _); split; intro; try assumption; try reflexivity; try discriminate; lra. }
  assert (Eb : forall j, In j J -> ev (fun x => b j x = true)).
  { intros j I. apply (ev_same _ (events _ _ law) (fun x => X j x <= X k x)). apply compared; [apply (HJ j I) | exact Hk].
    intro x. symmetry. apply Bt. }
  assert (En : ev (fun x => ~ chosen x k = true)) by (apply (ev_not _ (events _ _ law)); exact Ek).
  assert (M : INR i * P (fun x => ~ chosen x k = true) <= sum_over J (fun j => q j k)).
  { apply Rle_trans with (sum_over J (fun j => P (fun x => ~ chosen x k = true /\ b j x = true))).
    - apply markov; try assumption. intros x C. destruct (S x) as [T O].
      assert (F : chosen x k = false) by (destruct (chosen x k); [tauto | reflexivity]).
      generalize (count_without K k J (fun j => negb (chosen x j)) N HJ Hk (f_equal negb F)) (count_split J (chosen x))
        (count_split (seq 0 K) (chosen x)). rewrite T, L, seq_length. intros.
      apply Nat.le_trans with (count J (chosen x)). lia.
      apply count_rises. intros j I B. apply Bt. apply (O j k); try assumption. apply (HJ j I).
    - apply sum_over_at_most. intros j I. destruct (HJ j I) as [Hj Nj].
      rewrite <- (proj2 (pair_q j k Hj Hk Nj)). apply (probability_rises _ _ law).
      + apply (ev_and _ _ law); auto.
      + apply compared; assumption.
      + intros x [_ B]. apply Bt. exact B. }
  rewrite (complement _ _ law) in M by exact Ek.
  apply (Rmult_le_reg_l (INR i)). exact I0. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact M.
Qed.

(* That all of some events happen. *)
Lemma all_of (A : nat -> W -> Prop) N : (forall i, (i < N)%nat -> ev (A i)) ->
  ev (fun x => forall i, (i < N)%nat -> A i x) /\
  1 - total N (fun i => 1 - P (A i)) <= P (fun x => forall i, (i < N)%nat -> A i x).
Proof.
  induction N as [|N IH]; intro E.
  - assert (Z : forall x, True <-> (forall i, (i < 0)%nat -> A i x)) by (intro; split; [intros; lia | trivial]).
    split. apply (ev_same _ (events _ _ law) _ _ (ev_all _ (events _ _ law)) Z).
    rewrite <- (same_event _ _ law _ _ (ev_all _ (events _ _ law)) Z), (whole _ _ law). simpl. lra.
  - destruct IH as [Ev Lo]. intros; apply E; lia. assert (EN : ev (A N)) by (apply E; lia).
    assert (Eq : forall x, ((forall i, (i < N)%nat -> A i x) /\ A N x) <-> (forall i, (i < S N)%nat -> A i x)).
    { intro x. split. intros [H HN] i I. destruct (Nat.eq_dec i N) as [-> | D]. exact HN. apply H. lia.
      intro H. split; [intros; apply H; lia | apply H; lia]. }
    assert (Eb : ev (fun x => (forall i, (i < N)%nat -> A i x) /\ A N x)) by (apply (ev_and _ _ law); assumption).
    split. apply (ev_same _ (events _ _ law) _ _ Eb Eq).
    rewrite <- (same_event _ _ law _ _ Eb Eq). simpl.
    generalize (split_event _ _ law _ _ Ev EN). intro Sp.
    assert (P (fun x => (forall i, (i < N)%nat -> A i x) /\ ~ A N x) <= 1 - P (A N)).
    { rewrite <- (complement _ _ law) by exact EN. apply (probability_rises _ _ law); try tauto.
      apply (ev_and _ _ law). exact Ev. all: apply (ev_not _ (events _ _ law)); exact EN. }
    lra.
Qed.

(** The scores are numbered by their size, and psi is at most every gap. *)
Section Sorted.
Variable psi : R.
Hypothesis gaps : forall i, (S i < K)%nat -> psi <= u (S i) - u i.

Definition published : R := 1 - total (K - 1) (fun i => Phi (- psi / sqrt (s i * s i + s (S i) * s (S i)))).

Lemma strictly_sorted : published <= P (fun x => forall i, (i < K - 1)%nat -> X i x < X (S i) x).
Proof.
  apply Rle_trans with (2 := proj2 (all_of (fun i x => X i x < X (S i) x) (K - 1) (fun i I => below_event i (S i) ltac:(lia)
    ltac:(lia)))).
  unfold published. apply Rplus_le_compat_l, Ropp_le_contravar. apply total_le. intros i I.
  rewrite (proj1 (pair_q i (S i) ltac:(lia) ltac:(lia) ltac:(lia))). unfold q.
  set (r := sqrt (s i * s i + s (S i) * s (S i))).
  assert (R0 : 0 < r).
  { apply sqrt_lt_R0. destruct (scores i ltac:(lia)) as [A _]. destruct (scores (S i) ltac:(lia)) as [B _]. nra. }
  replace (1 - Phi ((u (S i) - u i) / r)) with (Phi (- ((u (S i) - u i) / r))).
  - apply Phi_rises. unfold Rdiv. rewrite <- Ropp_mult_distr_l. apply Ropp_le_contravar. apply Rmult_le_compat_r.
    left; apply Rinv_0_lt_compat; exact R0. apply gaps. lia.
  - rewrite !Phi_tail. apply tail_reflected.
Qed.

Theorem FDP_L6 : published <= P (fun x => forall i, (i < K - 1)%nat -> X i x <= X (S i) x).
Proof.
  apply Rle_trans with (1 := strictly_sorted). apply (probability_rises _ _ law).
  - apply (all_of (fun i x => X i x < X (S i) x)). intros; apply below_event; lia.
  - apply (all_of (fun i x => X i x <= X (S i) x)). intros; apply compared; lia.
  - intros x H i I. left. apply H. exact I.
Qed.

Lemma sorted_all x : (forall i, (i < K - 1)%nat -> X i x < X (S i) x) -> forall d i,
  (i + S d < K)%nat -> X i x < X (i + S d)%nat x.
Proof.
  intro H. induction d as [|d IH]; intros i I.
  - replace (i + 1)%nat with (S i) by lia. apply H. lia.
  - apply Rlt_trans with (X (i + S d)%nat x). apply IH. lia. replace (i + S (S d))%nat with (S (i + S d)) by lia. apply H. lia.
Qed.

(** k is among the m lowest: in the true set. *)
Theorem FDP_T3_lower_star m chosen k : selects m chosen -> (k < m)%nat -> (m <= K)%nat -> ev (fun x => chosen x k = true) ->
  published <= P (fun x => chosen x k = true).
Proof.
  intros S Hk Hm Ek. apply Rle_trans with (1 := strictly_sorted). apply (probability_rises _ _ law).
  - apply (all_of (fun i x => X i x < X (Datatypes.S i) x)). intros; apply below_event; lia.
  - exact Ek.
  - intros x H. destruct (chosen x k) eqn:C. reflexivity. exfalso. destruct (S x) as [T O].
    (* all that are chosen are below k, and that are fewer than m *)
    assert (L : (count (seq 0 K) (chosen x) <= k)%nat).
    { unfold count. apply Nat.le_trans with (length (seq 0 k)); [|rewrite seq_length; apply le_n]. apply NoDup_incl_length.
      apply NoDup_filter, seq_NoDup.
      intros j I. apply filter_In in I. destruct I as [I B]. apply in_seq in I. apply in_seq. split. lia. simpl.
      destruct (Nat.lt_total j k) as [Lt | [-> | Gt]]. exact Lt. rewrite C in B. discriminate.
      generalize (O j k ltac:(lia) ltac:(lia) B C) (sorted_all x H (j - k - 1) k ltac:(lia)).
      replace (k + Datatypes.S (j - k - 1))%nat with j by lia. intros. lra. }
    lia.
Qed.
End Sorted.
End Scores.

Lemma delta_falls m eps eps' : 0 < m -> eps <= eps' -> delta m eps' <= delta m eps.
Proof.
  intros M E. apply exact_curve. exact M. intros phi A B T O. apply Rle_trans with (2 := upper m eps M phi A B T O).
  assert (0 <= RInt (fun x => phi x * n x) A B).
  { apply RInt_ge_0. exact O. apply T. intros x _. apply Rmult_le_pos. apply T. left; apply n_positive. }
  generalize (exp_rises _ _ E). intro. nra.
Qed.

Lemma delta_0 m : 0 < m -> delta m 0 <= m / sqrt (2 * PI).
Proof.
  intro M. unfold delta. rewrite exp_0, Rmult_1_l. generalize (tail_between (0 / m - m / 2) (0 / m + m / 2) ltac:(lra)).
  replace (0 / m + m / 2 - (0 / m - m / 2)) with m by lra. trivial.
Qed.

(* At an epsilon in proportion to the ratio delta_G rises with it. *)
Lemma delta_along a m m' : 0 < a -> 0 < m -> m <= m' -> delta m (a * m) <= delta m' (a * m').
Proof.
  intros A M O. set (g := fun x => tail (a - x / 2) - exp (a * x) * tail (a + x / 2)).
  assert (G : forall x, 0 < x -> delta x (a * x) = g x).
  { intros x X. unfold delta, g. replace (a * x / x) with a by (field; lra). reflexivity. }
  rewrite !G by lra.
  assert (D : forall x, is_derive g x (exp (a * x) * (n (a + x / 2) - a * tail (a + x / 2)))).
  { intro x. unfold g.
    replace (exp (a * x) * (n (a + x / 2) - a * tail (a + x / 2)))
      with (- / 2 * - n (a - x / 2) - (a * exp (a * x) * tail (a + x / 2) + exp (a * x) * (/ 2 * - n (a + x / 2)))).
    - apply (is_derive_minus (fun x => tail (a - x / 2)) (fun x => exp (a * x) * tail (a + x / 2))).
      + apply (is_derive_comp tail (fun x => a - x / 2)). apply tail_derive. auto_derive; trivial. field.
      + apply (is_derive_mult (fun x => exp (a * x)) (fun x => tail (a + x / 2))).
        * auto_derive; trivial. ring.
        * apply (is_derive_comp tail (fun x => a + x / 2)). apply tail_derive. auto_derive; trivial. field.
        * intros; apply Rmult_comm.
    - replace (n (a - x / 2)) with (n (a + x / 2) * exp (a * x)).
      field. replace (a - x / 2) with (a + x / 2 - x) by field. rewrite ratio. f_equal. f_equal. field. }
  destruct (MVT_gen g m m' (fun x => exp (a * x) * (n (a + x / 2) - a * tail (a + x / 2)))) as [y [Y E]].
  - intros; apply D.
  - intros x _. apply continuity_pt_filterlim. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). eexists.
    apply D.
  - assert (B : 0 <= exp (a * y) * (n (a + y / 2) - a * tail (a + y / 2))).
    { rewrite Rmin_left in Y by exact O. apply Rmult_le_pos. left; apply exp_pos.
      generalize (mills (a + y / 2) ltac:(lra)) (tail_not_negative (a + y / 2)). intros L T.
      assert (tail (a + y / 2) * (a + y / 2) <= n (a + y / 2)).
      { apply (Rmult_le_compat_r (a + y / 2)) in L; [|lra]. replace (n (a + y / 2) / (a + y / 2) * (a + y / 2)) with (n (a + y /
        2)) in L by (field; lra). exact L. }
      nra. }
    assert (0 <= (exp (a * y) * (n (a + y / 2) - a * tail (a + y / 2))) * (m' - m)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** Theorem 1 of the paper, with a t of any kind, where the other devices always take part and the server sees y alone: all
   noise has the variance V with device k, at least its mean; x is its code, c what the others send, and away any law of y
   without it. *)
Section Theorem_1.
Variables (c x : list R) (w V mean t p delta_ delta_prime : R).
Hypothesis lengths : length c = length x.
Hypothesis bounded : 0 <= w /\ square x <= w * w.
Hypothesis enough : 0 <= t < mean /\ mean <= V.
Hypothesis shares : 0 < p <= 1 /\ 0 < delta_ <= 1 / 2 /\ 0 < delta_prime < 1.

Let l := ln (5 / 4 / delta_).
Let s := w * sqrt (2 * l) / sqrt (mean - t).  (* c_k / sqrt(mean - t) *)
Hypothesis mechanism : s <= 1.

Let lambda := 1 + p / (1 - delta_prime) * (exp s - 1).
Let one := law (moved c x) (sqrt V).
Let other := law c (sqrt V).
Let event := look_in (length x) [one; other].

Lemma l_positive : 0 < l.
Proof.
  unfold l. rewrite <- ln_1. apply ln_increasing. lra. apply (Rmult_lt_reg_r delta_). lra.
  replace (5 / 4 / delta_ * delta_) with (5 / 4) by (field; lra). lra.
Qed.

Lemma s_not_negative : 0 <= s.
Proof.
  unfold s. apply Rmult_le_pos. apply Rmult_le_pos. lra. apply sqrt_pos. left; apply Rinv_0_lt_compat, sqrt_lt_R0. lra.
Qed.

Lemma s_range : 0 < w -> 0 < s.
Proof.
  intro.
  unfold s. apply Rdiv_lt_0_compat. apply Rmult_lt_0_compat. lra. apply sqrt_lt_R0. generalize l_positive; lra.
    apply sqrt_lt_R0; lra.
Qed.

Lemma lambda_above : 1 + p * (exp s - 1) <= lambda /\ 1 <= lambda.
Proof.
  generalize s_not_negative (exp_ineq1_le s). intros. unfold lambda. assert (p <= p / (1 - delta_prime)).
  { apply (Rmult_le_reg_r (1 - delta_prime)). lra. replace (p / (1 - delta_prime) * (1 - delta_prime)) with p by (field; lra).
    nra. }
  split. apply Rplus_le_compat_l, Rmult_le_compat_r; lra. assert (0 <= p / (1 - delta_prime) * (exp s - 1)) by (apply
    Rmult_le_pos; lra). lra.
Qed.

(* The ratio of the distance to the noise is at most m. *)
Let m := s / sqrt (2 * l).

Lemma m_positive : 0 < w -> 0 < m.
Proof. intro. unfold m. apply Rdiv_lt_0_compat. apply s_range; lra. apply sqrt_lt_R0. generalize l_positive; lra. Qed.

Lemma no_code : forall v u, length u = length v -> square v <= 0 -> moved u v = u.
Proof.
  induction v as [|y v IH]; intros [|z u]; simpl; intros E H; try discriminate. reflexivity.
  generalize (square_not_negative v). intro. assert (y = 0) by nra. f_equal. lra. apply IH. lia. nra.
Qed.

(* Without a code both laws are one, and lambda is 1. *)
Lemma without_a_code (away : event -> R) b : w = 0 -> 0 <= b ->
  within lambda (mixed p (chance_in one) away) (mixed p (chance_in other) away) b /\
  within lambda (mixed p (chance_in other) away) (mixed p (chance_in one) away) b.
Proof.
  intros W B. assert (L1 : lambda = 1).
  { unfold lambda, s. rewrite W. unfold Rdiv at 2. rewrite !Rmult_0_l, exp_0. ring. }
  assert (O : forall xs, one xs = other xs).
  { intro xs. unfold one, other. rewrite no_code. reflexivity. exact lengths. rewrite W in bounded. lra. }
  assert (C : forall A : event, chance_in one A = chance_in other A).
  { intro A. unfold chance_in. apply box_same. intro xs. f_equal. apply O. }
  rewrite L1. split; intro A; unfold mixed; rewrite C; lra.
Qed.

Lemma hidden_at_most (away : event -> R) : 0 < w -> (forall A, 0 <= away A) ->
  within lambda (mixed p (chance_in one) away) (mixed p (chance_in other) away) (p * delta m (ln lambda)) /\
  within lambda (mixed p (chance_in other) away) (mixed p (chance_in one) away) (p * delta m (ln lambda)).
Proof.
  intros W N. generalize l_positive (m_positive W) (proj2 lambda_above). intros L M La.
  assert (R0 : 0 < sqrt V) by (apply sqrt_lt_R0; lra).
  assert (R1 : 0 < sqrt (2 * l)) by (apply sqrt_lt_R0; lra).
  assert (E : w <= m * sqrt V).
  { unfold m, s. replace (w * sqrt (2 * l) / sqrt (mean - t) / sqrt (2 * l) * sqrt V) with (w * (sqrt V / sqrt (mean - t))).
    - rewrite <- (Rmult_1_r w) at 1. apply Rmult_le_compat_l. lra. assert (Q : 0 < sqrt (mean - t)) by (apply sqrt_lt_R0; lra).
      apply (Rmult_le_reg_r (sqrt (mean - t))). exact Q. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_l, Rmult_1_r by lra.
      apply sqrt_le_1_alt. lra.
    - field. split; apply Rgt_not_eq; apply sqrt_lt_R0; lra. }
  destruct (both_orders c x (sqrt V) m (ln lambda) R0 lengths M) as [B B'].
  { apply Rle_trans with (w * w). apply bounded. apply Rmult_le_compat; lra. }
  assert (X : exp (ln lambda) = lambda) by (apply exp_ln; lra).
  assert (U : @within event (exp (ln lambda)) (chance_in one) (chance_in other) (delta m (ln lambda))) by (apply below_look_in;
    simpl; auto).
  assert (U' : @within event (exp (ln lambda)) (chance_in other) (chance_in one) (delta m (ln lambda))) by (apply below_look_in;
    simpl; auto).
  rewrite X in U, U'. split; apply common_part; assumption || lra.
Qed.

(** delta' is great: at least p over the root of 4 pi log(1.25 / delta). *)
Theorem FDP_T1_hidden_far (away : event -> R) : (forall A, 0 <= away A) -> p / sqrt (4 * PI * l) <= delta_prime ->
  within lambda (mixed p (chance_in one) away) (mixed p (chance_in other) away) (delta_prime + p * delta_ / (1 - delta_prime)) /\
  within lambda (mixed p (chance_in other) away) (mixed p (chance_in one) away) (delta_prime + p * delta_ / (1 - delta_prime)).
Proof.
  intros N F. destruct (Rle_lt_or_eq_dec 0 w (proj1 bounded)) as [W | W].
  2: { apply without_a_code. symmetry; exact W. generalize (Rdiv_lt_0_compat (p * delta_) (1 - delta_prime)). nra. }
  generalize l_positive (m_positive W) (proj2 lambda_above). intros L M La.
  assert (K : p * delta m (ln lambda) <= delta_prime + p * delta_ / (1 - delta_prime)).
  { assert (0 <= p * delta_ / (1 - delta_prime)) by (apply Rlt_le, Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; lra).
    apply Rle_trans with (p / sqrt (4 * PI * l)); [|lra]. unfold Rdiv. apply Rmult_le_compat_l. lra.
    apply Rle_trans with (delta m 0). apply delta_falls. exact M. rewrite <- ln_1. apply ln_rises; lra.
    apply Rle_trans with (1 := delta_0 m M). unfold m.
    assert (P : 0 < 2 * PI) by (generalize PI_RGT_0; lra).
    replace (4 * PI * l) with (2 * l * (2 * PI)) by ring. rewrite (sqrt_mult (2 * l) (2 * PI)) by lra.
    assert (R1 : 0 < sqrt (2 * l)) by (apply sqrt_lt_R0; lra). generalize root_positive. intro R2.
    replace (s / sqrt (2 * l) / sqrt (2 * PI)) with (s * / (sqrt (2 * l) * sqrt (2 * PI))) by (field; lra).
    apply Rle_trans with (1 * / (sqrt (2 * l) * sqrt (2 * PI))); [|right; apply Rmult_1_l].
      apply Rmult_le_compat_r; [|exact mechanism].
    left. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; assumption. }
  destruct (hidden_at_most away W N) as [U U']. split; intro A; [generalize (U A) | generalize (U' A)]; lra.
Qed.

(** p is at least .9. step is the row FDP-T1-hidden-p1, proved by machine for delta from 1e-12 to .5. *)
Theorem FDP_T1_hidden_p (away : event -> R) (step : delta (1 / sqrt (2 * l)) (9 / 10) <= delta_) : (forall A,
  0 <= away A) -> 9 / 10 <= p ->
  within lambda (mixed p (chance_in one) away) (mixed p (chance_in other) away) (delta_prime + p * delta_ / (1 - delta_prime)) /\
  within lambda (mixed p (chance_in other) away) (mixed p (chance_in one) away) (delta_prime + p * delta_ / (1 - delta_prime)).
Proof.
  intros N F. destruct (Rle_lt_or_eq_dec 0 w (proj1 bounded)) as [W | W].
  2: { apply without_a_code. symmetry; exact W. generalize (Rdiv_lt_0_compat (p * delta_) (1 - delta_prime)). nra. }
  generalize l_positive (m_positive W) lambda_above (s_range W). intros L M [Lp La] S.
  assert (R1 : 0 < sqrt (2 * l)) by (apply sqrt_lt_R0; lra).
  assert (K : p * delta m (ln lambda) <= delta_prime + p * delta_ / (1 - delta_prime)).
  { apply Rle_trans with (p * delta_).
    - apply Rmult_le_compat_l. lra. apply Rle_trans with (2 := step).
      replace (9 / 10) with (9 / 10 * sqrt (2 * l) * (1 / sqrt (2 * l))) by (field; lra).
      apply Rle_trans with (delta m (9 / 10 * sqrt (2 * l) * m)).
      + apply delta_falls. exact M. replace (9 / 10 * sqrt (2 * l) * m) with (9 / 10 * s) by (unfold m; field; lra).
        rewrite <- (ln_exp (9 / 10 * s)). apply ln_rises. apply exp_pos. apply Rle_trans with (2 := Lp).
        apply Rle_trans with (exp (p * s)). apply exp_rises. nra.
        (* convexity of exp *)
        generalize (exp_ineq1_le (s - p * s)) (exp_ineq1_le (- (p * s))). intros E1 E2.
        assert (X1 : exp s = exp (p * s) * exp (s - p * s)) by (rewrite <- exp_plus; f_equal; ring).
        assert (X2 : 1 = exp (p * s) * exp (- (p * s))) by (rewrite <- exp_plus, Rplus_opp_r, exp_0; reflexivity).
        generalize (exp_pos (p * s)). intro X3.
        assert (exp (p * s) * (1 + (s - p * s)) <= exp s) by (rewrite X1; apply Rmult_le_compat_l; lra).
        assert (exp (p * s) * (1 + - (p * s)) <= 1) by (rewrite X2 at 2; apply Rmult_le_compat_l; lra).
        assert (p * (exp (p * s) * (1 + (s - p * s))) <= p * exp s) by (apply Rmult_le_compat_l; lra).
        assert ((1 - p) * (exp (p * s) * (1 + - (p * s))) <= (1 - p) * 1) by (apply Rmult_le_compat_l; lra). nra.
      + apply delta_along; try lra. unfold m, Rdiv. apply Rmult_le_compat_r.
        left; apply Rinv_0_lt_compat; exact R1. exact mechanism.
    - assert (p * delta_ <= p * delta_ / (1 - delta_prime)).
      { apply (Rmult_le_reg_r (1 - delta_prime)). lra. replace (p * delta_ / (1 - delta_prime) * (1 - delta_prime)) with (p *
        delta_) by (field; lra).
        assert (0 <= p * delta_) by nra. nra. }
      lra. }
  destruct (hidden_at_most away W N) as [U U']. split; intro A; [generalize (U A) | generalize (U' A)]; lra.
Qed.
End Theorem_1.

(** Remark 8: noise w 0, ..., w (K - 1), independent and equally distributed, N(0, sigma^2): an event that does not look at
   coordinate j is independent of it, and events keep their probabilities when two coordinates are exchanged. *)
Definition replaced_at (j : nat) (t : R) (w : nat -> R) : nat -> R := fun l => if Nat.eq_dec l j then t else w l.
Definition exchanged (i j : nat) (l : nat) : nat := if Nat.eq_dec l i then j else if Nat.eq_dec l j then i else l.
Definition without_coordinate (j : nat) (B : (nat -> R) -> Prop) : Prop := forall w t, B w <-> B (replaced_at j t w).

Record alike (K : nat) (sigma : R) (ev : ((nat -> R) -> Prop) -> Prop) (P : ((nat -> R) -> Prop) -> R) : Prop := {
  alike_law : probability ev P;
  alike_normal : forall j, (j < K)%nat -> is_normal _ ev P (fun w => w j) 0 sigma;
  alike_above : forall j a, (j < K)%nat -> ev (fun w => a <= w j);
  alike_compared : forall i j a, (i < K)%nat -> (j < K)%nat -> ev (fun w => w i + a <= w j);
  alike_apart : forall j a B, (j < K)%nat -> ev B -> without_coordinate j B ->
    P (fun w => w j <= a /\ B w) = P (fun w => w j <= a) * P B;
  alike_exchange : forall i j A, (i < K)%nat -> (j < K)%nat -> ev A ->
    ev (fun w => A (fun l => w (exchanged i j l))) /\ P (fun w => A (fun l => w (exchanged i j l))) = P A }.

(* The bound of FDP-R8 vanishes as the noise grows. *)
Lemma vanishes_with_noise C : is_lim (fun sigma => C / (sigma * sqrt (2 * PI))) p_infty 0.
Proof.
  apply (is_lim_ext (fun sigma => C / sqrt (2 * PI) * / sigma)).
  - intro x. destruct (Req_dec x 0) as [-> | N]. rewrite Rmult_0_l. unfold Rdiv. rewrite Rinv_0. ring.
    field. split; [generalize root_positive; lra | exact N].
  - replace (Finite 0) with (Rbar_mult (C / sqrt (2 * PI)) (Rbar_inv p_infty)) by (simpl; f_equal; ring).
    apply is_lim_scal_l. apply (is_lim_inv (fun x => x)). apply is_lim_id. discriminate.
Qed.

Section Alike.
Variables (K : nat) (sigma : R) (ev : ((nat -> R) -> Prop) -> Prop) (P : ((nat -> R) -> Prop) -> R).
Hypothesis same_noise : alike K sigma ev P.
Let law := alike_law _ _ _ _ same_noise.
Let ev_not' := ev_not _ (events _ _ law).

Lemma sigma_positive : (0 < K)%nat -> 0 < sigma.
Proof. intro H. apply (alike_normal _ _ _ _ same_noise 0%nat H). Qed.

(* Scores v and the same noise. *)
Definition noisy (v : nat -> R) (j : nat) (w : nat -> R) : R := v j + w j.

Lemma noisy_normal v j : (j < K)%nat -> is_normal _ ev P (noisy v j) (v j) sigma.
Proof.
  intro J. destruct (alike_normal _ _ _ _ same_noise j J) as [S H]. split. exact S. intro a. destruct (H (a - v j)) as [E Q].
  assert (I : forall w : nat -> R, w j <= a - v j <-> noisy v j w <= a) by (intro w; unfold noisy; split; lra).
  split. apply (ev_same _ (events _ _ law) _ _ E I).
  rewrite <- (same_event _ _ law _ _ E I), Q. f_equal. field. lra.
Qed.

Lemma noisy_independent v i j : (i < K)%nat -> (j < K)%nat -> i <> j -> independent _ P (noisy v i) (noisy v j).
Proof.
  intros I J N a b.
  assert (Ev : forall k c, (k < K)%nat -> ev (fun w => noisy v k w <= c)) by (intros k c H; apply (noisy_normal v k H)).
  assert (Eq : forall k c (w : nat -> R), noisy v k w <= c <-> w k <= c - v k) by (intros; unfold noisy; split; lra).
  assert (E1 : ev (fun w => w i <= a - v i)) by (apply (alike_normal _ _ _ _ same_noise i I)).
  rewrite (same_event _ _ law (fun x => noisy v i x <= a /\ noisy v j x <= b) (fun w => w i <= a - v i /\ noisy v j w <= b)).
  - rewrite (alike_apart _ _ _ _ same_noise i (a - v i) (fun w => noisy v j w <= b) I (Ev j b J)).
    + f_equal. apply (same_event _ _ law). exact E1. intro w. symmetry. apply Eq.
    + intros w t. unfold noisy, replaced_at. destruct (Nat.eq_dec j i); [congruence | tauto].
  - apply (ev_and _ _ law); apply Ev; assumption.
  - intro w. rewrite Eq. tauto.
Qed.

Lemma noisy_compared v i j : (i < K)%nat -> (j < K)%nat -> ev (fun w => noisy v i w <= noisy v j w).
Proof.
  intros I J. apply (ev_same _ (events _ _ law) _ _ (alike_compared _ _ _ _ same_noise i j (v i - v j) I J)).
  intro w. unfold noisy. split; lra.
Qed.

(* Ties have the probability 0. *)
Definition distinct (v : nat -> R) (w : nat -> R) : Prop := forall i, (i < K)%nat -> forall j,
  (j < K)%nat -> i = j \/ noisy v i w <> noisy v j w.

Lemma distinct_sure v : ev (distinct v) /\ P (distinct v) = 1.
Proof.
  assert (T : forall i j, (i < K)%nat -> (j < K)%nat -> let A := fun w => i = j \/ noisy v i w <> noisy v j w in ev A /\ P A = 1).
  { intros i j I J A. destruct (Nat.eq_dec i j) as [E | N].
    - assert (Z : forall w : nat -> R, True <-> A w) by (intro; unfold A; tauto).
      split. apply (ev_same _ (events _ _ law) _ _ (ev_all _ (events _ _ law)) Z).
      rewrite <- (same_event _ _ law _ _ (ev_all _ (events _ _ law)) Z). apply (whole _ _ law).
    - set (L := fun w => noisy v i w < noisy v j w). set (M := fun w => noisy v i w <= noisy v j w).
      assert (EM : ev M) by (apply noisy_compared; assumption).
      assert (EL : ev L) by (apply (below_event _ ev P law K (noisy v)); try assumption; intros; apply noisy_compared;
        assumption).
      assert (Z : forall w, ~ (M w /\ ~ L w) <-> A w).
      { intro w. unfold A, M, L. split; intro H.
        - right. intro E. apply H. lra.
        - intros [H1 H2]. destruct H as [H | H]. contradiction. lra. }
      assert (E0 : ev (fun w => M w /\ ~ L w)) by (apply (ev_and _ _ law); [exact EM | apply ev_not'; exact EL]).
      split. apply (ev_same _ (events _ _ law) _ _ (ev_not' _ E0) Z).
      rewrite <- (same_event _ _ law _ _ (ev_not' _ E0) Z), (complement _ _ law _ E0).
      generalize (split_event _ _ law M L EM EL).
      rewrite (same_event _ _ law (fun w => M w /\ L w) L); [|apply (ev_and _ _ law); assumption | unfold M, L; intro; split;
        [tauto | intro; split; lra]].
      destruct (pair_q _ ev P law K (noisy v) v (fun _ => sigma)) with (i := i) (j := j) as [Q1 Q2]; try assumption.
      { intros; apply noisy_normal; assumption. } { intros; apply noisy_independent; assumption.
        } { intros; apply noisy_compared; assumption. }
      unfold M, L in *. rewrite Q1, Q2. intro. lra. }
  assert (In : forall i, (i < K)%nat -> let A := fun w => forall j, (j < K)%nat -> i = j \/ noisy v i w <> noisy v j w in ev A
    /\ P A = 1).
  { intros i I A. destruct (all_of _ ev P law (fun j w => i = j \/ noisy v i w <> noisy v j w) K) as [E L].
    intros j J. apply (T i j I J). split. exact E. apply Rle_antisym. apply (probability_likely _ _ law). exact E.
    apply Rle_trans with (2 := L). rewrite (total_ext K _ (fun _ => 0 * 0)). rewrite total_times. lra.
    intros j J. rewrite (proj2 (T i j I J)). ring. }
  destruct (all_of _ ev P law (fun i w => forall j, (j < K)%nat -> i = j \/ noisy v i w <> noisy v j w) K) as [E L].
  intros i I. apply (In i I). split. exact E. apply Rle_antisym. apply (probability_likely _ _ law). exact E.
  apply Rle_trans with (2 := L). rewrite (total_ext K _ (fun _ => 0 * 0)). rewrite total_times. lra.
  intros i I. rewrite (proj2 (In i I)). ring.
Qed.

(* How many noisy scores are at most that of k, its own among them; and that these are at most m. *)
Definition at_most_it (v : nat -> R) (k : nat) (w : nat -> R) (j : nat) : bool := if Rle_dec (noisy v j w) (noisy v k w) then
  true else false.
Definition place (v : nat -> R) (k : nat) (w : nat -> R) : nat := count (seq 0 K) (at_most_it v k w).
Definition among (m : nat) (v : nat -> R) (k : nat) (w : nat -> R) : Prop := (place v k w <= m)%nat.

Lemma at_most_it_true v k w j : at_most_it v k w j = true <-> noisy v j w <= noisy v k w.
Proof. unfold at_most_it. destruct (Rle_dec _ _); split; intro; try assumption; try reflexivity; try discriminate; lra. Qed.

(* Whether at most m of some events happen is an event. *)
Lemma count_event (W : Type) (ev' : (W -> Prop) -> Prop) (b : W -> nat -> bool) l : algebra ev' ->
  (forall j, In j l -> ev' (fun w => b w j = true)) -> forall m, ev' (fun w => (count l (b w) <= m)%nat).
Proof.
  intros [Ea En Eo Es]. induction l as [|j l IH]; intros H m.
  - apply (Es (fun _ => True)). exact Ea. intro. unfold count. simpl. split; [lia | trivial].
  - assert (Ej : ev' (fun w => b w j = true)) by (apply H; left; reflexivity).
    assert (Il : forall m, ev' (fun w => (count l (b w) <= m)%nat)) by (apply IH; intros; apply H; right; assumption).
    destruct m as [|m].
    + apply (Es (fun w => ~ (b w j = true \/ ~ (count l (b w) <= 0)%nat))). apply En, Eo; [exact Ej | apply En; apply Il].
      intro w. unfold count. simpl. destruct (b w j); simpl; split; intro A.
      * exfalso. apply A. left. reflexivity.
      * lia.
      * destruct (le_dec (length (filter (b w) l)) 0); [assumption | exfalso; apply A; right; assumption].
      * intros [? | ?]; [discriminate | contradiction].
    + apply (Es (fun w => (count l (b w) <= m)%nat \/ ~ (b w j = true \/ ~ (count l (b w) <= S m)%nat))).
      apply Eo. apply Il. apply En, Eo; [exact Ej | apply En; apply Il].
      intro w. unfold count. simpl. destruct (b w j); simpl; split; intro A.
      * destruct A as [A | A]; [lia | exfalso; apply A; left; reflexivity].
      * left. lia.
      * destruct A as [A | A]; [lia|]. destruct (le_dec (length (filter (b w) l)) (S m)); [assumption | exfalso; apply A; right;
        assumption].
      * right. intros [? | ?]; [discriminate | contradiction].
Qed.

Lemma low_event m v k : (k < K)%nat -> ev (among m v k).
Proof.
  intro H. unfold among, place. apply (count_event _ ev (fun w => at_most_it v k w)). apply (events _ _ law).
  intros j J. apply in_seq in J. apply (ev_same _ (events _ _ law) (fun w => noisy v j w <= noisy v k w)).
  apply noisy_compared; lia. intro. symmetry. apply at_most_it_true.
Qed.

(* k is selected exactly if its place is at most m, but for ties. *)
Lemma selected_low m v chosen k : selects _ K (noisy v) m chosen -> (k < K)%nat -> ev (fun w => chosen w k = true) ->
  P (fun w => chosen w k = true) = P (among m v k).
Proof.
  intros S H E. destruct (distinct_sure v) as [ED D]. generalize (low_event m v k H). intro EL.
  assert (Up : P (among m v k) <= P (fun w => chosen w k = true)).
  { apply (probability_rises _ _ law); try assumption. intros w L. destruct (chosen w k) eqn:C. reflexivity. exfalso.
    destruct (S w) as [T O]. unfold among, place in L.
    (* all chosen are at most k, and k is not among them *)
    assert (X : (length (k :: filter (chosen w) (seq 0 K)) <= length (filter (at_most_it v k w) (seq 0 K)))%nat).
    { apply NoDup_incl_length.
      - constructor. intro I. apply filter_In in I. destruct I. congruence. apply NoDup_filter, seq_NoDup.
      - intros j [<- | I]; apply filter_In. split. apply in_seq; lia. apply at_most_it_true. lra.
        apply filter_In in I. destruct I as [I B]. split. exact I. apply at_most_it_true. apply in_seq in I.
          apply (O j k); try lia; assumption. }
    unfold count in *. simpl in X. lia. }
  apply Rle_antisym; [|exact Up].
  rewrite (split_event _ _ law _ (distinct v) E ED).
  assert (Z : P (fun w => chosen w k = true /\ ~ distinct v w) <= 0).
  { apply Rle_trans with (P (fun w => ~ distinct v w)); [|rewrite (complement _ _ law _ ED), D; lra].
    apply (probability_rises _ _ law); try tauto. apply (ev_and _ _ law). exact E. all: apply ev_not'; exact ED. }
  assert (Y : P (fun w => chosen w k = true /\ distinct v w) <= P (among m v k)).
  { apply (probability_rises _ _ law). apply (ev_and _ _ law); assumption. exact EL. intros w [C Di]. destruct (S w) as [T O].
    unfold among, place. rewrite <- T. apply count_rises. intros j J B. apply in_seq in J. apply at_most_it_true in B.
    destruct (chosen w j) eqn:Cj. reflexivity. exfalso.
    generalize (O k j H ltac:(lia) C Cj). intro. destruct (Di k H j ltac:(lia)) as [-> | N]. congruence. lra. }
  lra.
Qed.

(* Without ties exactly m of K places are at most m. *)
Lemma places_injective v w i k : distinct v w -> (i < K)%nat -> (k < K)%nat -> noisy v i w < noisy v k w -> (place v i w < place
  v k w)%nat.
Proof.
  intros D I H L. unfold place, count.
  assert (X : (length (k :: filter (at_most_it v i w) (seq 0 K)) <= length (filter (at_most_it v k w) (seq 0 K)))%nat).
  { apply NoDup_incl_length.
    - constructor. intro J. apply filter_In in J. destruct J as [_ J]. apply at_most_it_true in J. lra.
      apply NoDup_filter, seq_NoDup.
    - intros j [<- | J]; apply filter_In. split. apply in_seq; lia. apply at_most_it_true. lra.
      apply filter_In in J. destruct J as [J B]. split. exact J. apply at_most_it_true in B. apply at_most_it_true. lra. }
  simpl in X. lia.
Qed.

Lemma place_range v k w : (k < K)%nat -> (1 <= place v k w <= K)%nat.
Proof.
  intro H. unfold place, count. split.
  - assert (X : (length [k] <= length (filter (at_most_it v k w) (seq 0 K)))%nat).
    { apply NoDup_incl_length. repeat constructor. intros []. intros j [<- | []]. apply filter_In. split. apply in_seq; lia.
      apply at_most_it_true. lra. }
    exact X.
  - generalize (count_split (seq 0 K) (at_most_it v k w)). rewrite seq_length. unfold count. lia.
Qed.

Lemma few_places v w (b : nat -> bool) a N : distinct v w -> (forall k, (k < K)%nat -> b k = true -> (a <= place v k w < a +
  N)%nat) ->
  (count (seq 0 K) b <= N)%nat.
Proof.
  intros D H. unfold count. rewrite <- (map_length (fun k => place v k w)).
    apply Nat.le_trans with (length (seq a N)); [|rewrite seq_length; apply le_n].
  apply NoDup_incl_length.
  - assert (In : forall l, NoDup l -> (forall k, In k l -> (k < K)%nat) -> NoDup (map (fun k => place v k w) l)).
    { induction l as [|x l IH]; intros N1 B; simpl; constructor.
      - intro I. apply in_map_iff in I. destruct I as [y [E Y]]. inversion N1; subst.
        assert (Hx : (x < K)%nat) by (apply B; left; reflexivity). assert (Hy : (y < K)%nat) by (apply B; right; assumption).
        destruct (Rtotal_order (noisy v x w) (noisy v y w)) as [L | [L | L]].
        + generalize (places_injective v w x y D Hx Hy L). lia.
        + destruct (D x Hx y Hy) as [-> | Z]; [contradiction | lra].
        + generalize (places_injective v w y x D Hy Hx L). lia.
      - inversion N1; subst. apply IH. assumption. intros; apply B; right; assumption. }
    apply In. apply NoDup_filter, seq_NoDup. intros k I. apply filter_In in I. destruct I as [I _]. apply in_seq in I. lia.
  - intros p I. apply in_map_iff in I. destruct I as [k [<- I]]. apply filter_In in I. destruct I as [I B]. apply in_seq in I.
    apply in_seq. apply H. lia. exact B.
Qed.

(* With equal scores all devices are selected with the same probability. *)
Lemma exchanged_range i j l : (i < K)%nat -> (j < K)%nat -> (l < K)%nat -> (exchanged i j l < K)%nat.
Proof. unfold exchanged. intros. destruct (Nat.eq_dec l i), (Nat.eq_dec l j); assumption. Qed.

Lemma exchanged_twice i j l : exchanged i j (exchanged i j l) = l.
Proof.
  unfold exchanged. destruct (Nat.eq_dec l i) as [A | A]; [|destruct (Nat.eq_dec l j) as [B | B]].
  - destruct (Nat.eq_dec j i), (Nat.eq_dec j j); congruence.
  - destruct (Nat.eq_dec i i); congruence.
  - destruct (Nat.eq_dec l i), (Nat.eq_dec l j); congruence.
Qed.

Lemma count_exchanged i j b : (i < K)%nat -> (j < K)%nat -> count (seq 0 K) (fun l => b (exchanged i j l)) = count (seq 0 K) b.
Proof.
  intros I J. assert (L : forall b, (count (seq 0 K) (fun l => b (exchanged i j l)) <= count (seq 0 K) b)%nat).
  { intro c. unfold count. rewrite <- (map_length (exchanged i j)). apply NoDup_incl_length.
    - apply FinFun.Injective_map_NoDup. intros x y E. rewrite <- (exchanged_twice i j x), E. apply exchanged_twice.
      apply NoDup_filter, seq_NoDup.
    - intros p H. apply in_map_iff in H. destruct H as [l [<- H]]. apply filter_In in H. destruct H as [H B]. apply in_seq in H.
      apply filter_In. split; [|exact B]. apply in_seq. generalize (exchanged_range i j l I J). lia. }
  apply Nat.le_antisymm. apply L. generalize (L (fun l => b (exchanged i j l))). cbv beta.
  unfold count. rewrite (filter_ext _ b). trivial. intro a. rewrite exchanged_twice. reflexivity.
Qed.

Lemma low_equal m c k k' : (k < K)%nat -> (k' < K)%nat -> P (among m (fun _ => c) k) = P (among m (fun _ => c) k').
Proof.
  intros H H'. destruct (alike_exchange _ _ _ _ same_noise k k' (among m (fun _ => c) k) H H' (low_event m _ k H)) as [E Q].
    rewrite <- Q.
  apply (same_event _ _ law). exact E. intro w. unfold among, place.
  rewrite <- (count_exchanged k k' (at_most_it (fun _ => c) k' w) H H'). unfold count.
  rewrite (filter_ext (at_most_it (fun _ => c) k (fun l => w (exchanged k k' l))) (fun l => at_most_it (fun _ => c) k' w
    (exchanged k k' l))).
  tauto. intro j. unfold at_most_it, noisy. replace (exchanged k k' k) with k'. reflexivity.
  unfold exchanged. destruct (Nat.eq_dec k k); congruence.
Qed.

Lemma sum_over_constant l f g : (forall j, In j l -> f j = g) -> sum_over l f = INR (length l) * g.
Proof.
  induction l as [|x l IH]; intro H. simpl. ring. simpl length. rewrite S_INR. simpl.
  rewrite IH by (intros; apply H; right; assumption). rewrite (H x) by (left; reflexivity). ring.
Qed.

Lemma by_lot m c k : (k < K)%nat -> (m <= K)%nat -> P (among m (fun _ => c) k) = INR m / INR K.
Proof.
  intros H M. assert (K0 : 0 < INR K) by (apply lt_0_INR; lia). set (v := fun _ : nat => c).
  destruct (distinct_sure v) as [ED D].
  set (b := fun (j : nat) (w : nat -> R) => Nat.leb (place v j w) m).
  assert (Bt : forall j w, b j w = true <-> among m v j w) by (intros; unfold b, among; apply Nat.leb_le).
  assert (Eb : forall j, In j (seq 0 K) -> ev (fun w => b j w = true)).
  { intros j J. apply in_seq in J. apply (ev_same _ (events _ _ law) (among m v j)). apply low_event; lia.
    intro; symmetry; apply Bt. }
  assert (Pb : forall j, In j (seq 0 K) -> P (fun w => b j w = true) = P (among m v k)).
  { intros j J. transitivity (P (among m v j)). apply (same_event _ _ law). auto. intro; apply Bt.
    apply in_seq in J. apply low_equal; lia. }
  assert (Lo : INR m <= INR K * P (among m v k)).
  { replace (INR m) with (INR m * P (distinct v)) by (rewrite D; ring).
    apply Rle_trans with (1 := markov _ ev P law b (seq 0 K) Eb m (distinct v) ED
      ltac:(intros w Di; generalize (few_places v w (fun j => negb (b j w)) (S m) (K - m) Di
        ltac:(intros j J B; generalize (place_range v j w J); unfold b in B; apply Bool.negb_true_iff, Nat.leb_gt in B; lia))
        (count_split (seq 0 K) (fun j => b j w)); rewrite seq_length; lia)).
    replace (INR K) with (INR (length (seq 0 K))) by (rewrite seq_length; reflexivity).
    rewrite <- (sum_over_constant (seq 0 K) (fun _ => P (among m v k)) (P (among m v k)) (fun _ _ => eq_refl)).
    apply sum_over_at_most. intros j J. rewrite <- (Pb j J). apply (probability_rises _ _ law); try tauto.
      apply (ev_and _ _ law). exact ED. all: auto. }
  assert (Hi : INR (K - m) <= INR K * (1 - P (among m v k))).
  { replace (INR (K - m)) with (INR (K - m) * P (distinct v)) by (rewrite D; ring).
    assert (En : forall j, In j (seq 0 K) -> ev (fun w => negb (b j w) = true)).
    { intros j J. apply (ev_same _ (events _ _ law) (fun w => ~ b j w = true)). apply ev_not'. auto. intro w.
      destruct (b j w); simpl; split; congruence. }
    apply Rle_trans with (1 := markov _ ev P law (fun j w => negb (b j w)) (seq 0 K) En (K - m) (distinct v) ED
      ltac:(intros w Di; generalize (few_places v w (fun j => b j w) 1 m Di
        ltac:(intros j J B; generalize (place_range v j w J); unfold b in B; apply Nat.leb_le in B; lia))
        (count_split (seq 0 K) (fun j => b j w)); rewrite seq_length; lia)).
    replace (INR K) with (INR (length (seq 0 K))) by (rewrite seq_length; reflexivity).
    rewrite <- (sum_over_constant (seq 0 K) (fun _ => 1 - P (among m v k)) (1 - P (among m v k)) (fun _ _ => eq_refl)).
    apply sum_over_at_most. intros j J. rewrite <- (Pb j J), <- (complement _ _ law) by auto.
    apply (probability_rises _ _ law). apply (ev_and _ _ law); auto. apply ev_not'; auto. intros w [_ B].
      destruct (b j w); simpl in B; congruence. }
  rewrite minus_INR in Hi by exact M. unfold v in *.
  apply (Rmult_eq_reg_l (INR K)); [|lra]. replace (INR K * (INR m / INR K)) with (INR m) by (field; lra). lra.
Qed.

(** Device 0 has the lowest score. *)
Theorem FDP_R8_lowest m u chosen : (0 < K)%nat -> (1 <= m <= K)%nat -> (forall j, (j < K)%nat -> u 0%nat <= u j) ->
  selects _ K (noisy u) m chosen -> ev (fun w => chosen w 0%nat = true) ->
  1 <= P (fun w => chosen w 0%nat = true) * (INR K / INR m).
Proof.
  intros H M U S E. assert (K0 : 0 < INR K) by (apply lt_0_INR; lia). assert (M0 : 0 < INR m) by (apply lt_0_INR; lia).
  rewrite (selected_low m u chosen 0 S H E).
  assert (L : INR m / INR K <= P (among m u 0)).
  { rewrite <- (by_lot m (u 0%nat) 0 H ltac:(lia)). apply (probability_rises _ _ law); try (apply low_event; exact H).
    intros w L. unfold among, place in *. apply Nat.le_trans with (2 := L). apply count_rises. intros j J B. apply in_seq in J.
    apply at_most_it_true in B. apply at_most_it_true. unfold noisy in *. specialize (U j ltac:(lia)). lra. }
  apply (Rmult_le_compat_r (INR K / INR m)) in L; [|apply Rlt_le, Rdiv_lt_0_compat; assumption].
  replace (INR m / INR K * (INR K / INR m)) with 1 in L by (field; lra). exact L.
Qed.
(* A family of events that grows with y and does not look at coordinate i: how likely it is that it happens between w i and w i
   + t. *)
Section Shifted.
Variables (i : nat) (Q : R -> (nat -> R) -> Prop) (t : R).
Hypothesis i_range : (i < K)%nat.
Hypothesis Q_event : forall y, ev (Q y).
Hypothesis Q_without : forall y, without_coordinate i (Q y).
Hypothesis Q_grows : forall y y' w, y <= y' -> Q y w -> Q y' w.
Hypothesis t_positive : 0 < t.
Hypothesis between_event : ev (fun w => Q (w i + t) w /\ ~ Q (w i) w).

Let S0 : 0 < sigma := sigma_positive (Nat.le_lt_trans _ _ _ (Nat.le_0_l i) i_range).
Let cell (a b : R) (w : nat -> R) : Prop := a < w i <= b.

Lemma coordinate_event a : ev (fun w => w i <= a).
Proof. apply (alike_normal _ _ _ _ same_noise i i_range). Qed.

Lemma coordinate_below a : P (fun w => w i <= a) = Phi (a / sigma).
Proof. destruct (alike_normal _ _ _ _ same_noise i i_range) as [_ H]. rewrite (proj2 (H a)). f_equal. field. lra. Qed.

Lemma slice_event a b : ev (cell a b).
Proof.
  apply (ev_same _ (events _ _ law) (fun w => w i <= b /\ ~ w i <= a)).
  - apply (ev_and _ _ law). apply coordinate_event. apply ev_not'. apply coordinate_event.
  - intro w. unfold cell. split; intros [U V]; split; lra.
Qed.

Lemma slice a b B : a <= b -> ev B -> without_coordinate i B -> P (fun w => B w /\ cell a b w) <= (b - a) / (sigma * sqrt (2 *
  PI)) * P B.
Proof.
  intros O EB WB. assert (E : P (fun w => B w /\ cell a b w) = (Phi (b / sigma) - Phi (a / sigma)) * P B).
  { rewrite <- !coordinate_below. rewrite Rmult_minus_distr_r.
    rewrite <- (alike_apart _ _ _ _ same_noise i b B i_range EB WB), <- (alike_apart _ _ _ _ same_noise i a B i_range EB WB).
    rewrite (split_event _ _ law (fun w => w i <= b /\ B w) (fun w => w i <= a) (ev_and _ _ law _ _ (coordinate_event b) EB)
      (coordinate_event a)).
    rewrite (same_event _ _ law (fun w => (w i <= b /\ B w) /\ w i <= a) (fun w => w i <= a /\ B w)).
    - rewrite (same_event _ _ law (fun w => (w i <= b /\ B w) /\ ~ w i <= a) (fun w => B w /\ cell a b w)). ring.
      + apply (ev_and _ _ law). apply (ev_and _ _ law); [apply coordinate_event | exact EB]. apply ev_not'.
        apply coordinate_event.
      + intro w. unfold cell. split; [intros [[U V] N] | intros [U [N V]]]; repeat split; lra || assumption.
    - apply (ev_and _ _ law); [apply (ev_and _ _ law); [apply coordinate_event | exact EB] | apply coordinate_event].
    - intro w. split; [intros [[U V] N] | intros [U V]]; repeat split; lra || assumption. }
  rewrite E. apply Rmult_le_compat_r. apply (not_negative _ _ law); exact EB.
  rewrite !Phi_tail. assert (AB : a / sigma <= b / sigma) by (apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra).
  apply Rle_trans with (1 := tail_between (- (b / sigma)) (- (a / sigma)) ltac:(lra)). right. field.
    split; [generalize root_positive|]; lra.
Qed.

Lemma total_moved (F : nat -> R) M L : total L (fun l => F (l + M)%nat - F l) = total M (fun l => F (L + l)%nat - F l).
Proof.
  assert (Z : forall N (g : nat -> R), total N (fun l => g (S l)) = total N g - g 0%nat + g N).
  { induction N; intros; simpl. ring. rewrite IHN. ring. }
  induction L as [|L IH]; simpl.
  - rewrite (total_ext M _ (fun _ => 0 * 0)). rewrite total_times. ring. intros. ring.
  - rewrite IH. assert (Y : forall N f g, total N (fun l => f l - g l) = total N f - total N g).
    { intros. rewrite <- (total_ext N (fun l => 1 * f l + -1 * g l)), total_combined by (intros; ring). ring. }
    rewrite !Y. rewrite <- (total_ext M (fun l => F (L + S l)%nat) (fun l => F (S (L + l))%nat)) by (intros; f_equal; lia).
    rewrite (Z M (fun l => F (L + l)%nat)). rewrite Nat.add_0_r. ring.
Qed.

Let D (w : nat -> R) : Prop := Q (w i + t) w /\ ~ Q (w i) w.

Lemma between_slices a N L : (0 < N)%nat -> let h := t / INR N in
  P (fun w => D w /\ cell a (a + INR L * h) w)
  <= h / (sigma * sqrt (2 * PI)) * total L (fun l => P (Q (a + INR (l + S N) * h)) - P (Q (a + INR l * h))).
Proof.
  intros HN h. assert (N0 : 0 < INR N) by (apply lt_0_INR; exact HN). assert (H : 0 < h) by (apply Rdiv_lt_0_compat; lra).
  induction L as [|L IH].
  - simpl. rewrite Rmult_0_r. right. transitivity (P (fun _ => ~ True)).
    + apply (same_event _ _ law). apply (ev_and _ _ law). exact between_event. apply slice_event. intro w. unfold cell.
      split; [lra | tauto].
    + rewrite (complement _ _ law (fun _ => True)) by apply (ev_all _ (events _ _ law)). rewrite (whole _ _ law). ring.
  - set (b := a + INR L * h) in *. assert (B1 : a + INR (S L) * h = b + h) by (unfold b; rewrite S_INR; ring). rewrite B1.
    assert (B2 : a <= b) by (unfold b; generalize (pos_INR L); nra).
    assert (B3 : a + INR (L + S N) * h = b + h + t) by (unfold b, h; rewrite plus_INR, S_INR; field; lra).
    rewrite (same_event _ _ law (fun w => D w /\ cell a (b + h) w) (fun w => (D w /\ cell a b w) \/ (D w /\ cell b (b + h) w))).
    2: { apply (ev_and _ _ law). exact between_event. apply slice_event. }
    2: { intro w. unfold cell. split; [intros [d [u v]] | intros [[d [u v]] | [d [u v]]]]; [|repeat split; lra || apply d ..].
         destruct (Rle_dec (w i) b); [left | right]; repeat split; lra || apply d. }
    rewrite (add _ _ law).
    2, 3: apply (ev_and _ _ law); [exact between_event | apply slice_event].
    2: { unfold cell. intros w [_ [_ v]] [_ [u _]]. lra. }
    simpl total. rewrite Rmult_plus_distr_l. apply Rplus_le_compat. exact IH.
    fold b. rewrite B3. set (B := fun w => Q (b + h + t) w /\ ~ Q b w).
    assert (EB : ev B) by (apply (ev_and _ _ law); [|apply ev_not']; apply Q_event).
    assert (PB : P B = P (Q (b + h + t)) - P (Q b)).
    { generalize (split_event _ _ law _ _ (Q_event (b + h + t)) (Q_event b)). fold B.
      rewrite (same_event _ _ law (fun w => Q (b + h + t) w /\ Q b w) (Q b)). lra. apply (ev_and _ _ law); apply Q_event.
      intro w. split; [tauto | intro q; split; [apply (Q_grows b); [lra | exact q] | exact q]]. }
    rewrite <- PB. apply Rle_trans with (P (fun w => B w /\ cell b (b + h) w)).
    + apply (probability_rises _ _ law). apply (ev_and _ _ law); [exact between_event | apply slice_event].
      apply (ev_and _ _ law); [exact EB | apply slice_event]. intros w [[q1 q2] [u v]]. split; [|split; assumption]. split.
      * apply (Q_grows (w i + t)); [lra | exact q1].
      * intro q. apply q2. apply (Q_grows b); [lra | exact q].
    + replace (h / (sigma * sqrt (2 * PI))) with ((b + h - b) / (sigma * sqrt (2 * PI))) by (f_equal; ring).
      apply slice. lra. exact EB. intros w s0. unfold B. rewrite (Q_without (b + h + t) w s0), (Q_without b w s0). tauto.
Qed.

Lemma n_below_1 x : n x <= 1.
Proof.
  apply Rle_trans with (1 := n_at_most x). rewrite <- Rinv_1. apply Rinv_le_contravar. lra. apply root_at_least_1.
Qed.

Theorem between_at_most : P D <= t / (sigma * sqrt (2 * PI)).
Proof.
  generalize root_positive. intro RP. assert (C0 : 0 < sigma * sqrt (2 * PI)) by (apply Rmult_lt_0_compat; assumption).
  apply le_epsilon. intros e He.
  destruct (archimed_cor1 (e / 4)) as [k [Hk K0]]. lra. assert (k0 : 0 < INR k) by (apply lt_0_INR; exact K0).
  destruct (archimed_cor1 (e / 2 / (t / (sigma * sqrt (2 * PI))))) as [N [HN N0]].
  { apply Rdiv_lt_0_compat. lra. apply Rdiv_lt_0_compat; assumption. }
  assert (n0 : 0 < INR N) by (apply lt_0_INR; exact N0).
  set (h := t / INR N). assert (H : 0 < h) by (apply Rdiv_lt_0_compat; assumption).
  set (B := sigma * INR k). assert (B0 : 0 < B) by (apply Rmult_lt_0_compat; assumption).
  destruct (nfloor_ex (2 * B / h)) as [L [_ HL]]. apply Rlt_le, Rdiv_lt_0_compat; lra.
  assert (HL' : B <= - B + INR (S L) * h).
  { rewrite S_INR. apply (Rmult_lt_compat_r h) in HL; [|exact H]. replace (2 * B / h * h) with (2 * B) in HL by (field; lra).
    lra. }
  generalize (between_slices (- B) N (S L) N0). fold h. cbv zeta. intro I.
  set (F := fun l => P (Q (- B + INR l * h))).
  assert (T : total (S L) (fun l => P (Q (- B + INR (l + S N) * h)) - P (Q (- B + INR l * h))) <= INR (S N)).
  { change (total (S L) (fun l => F (l + S N)%nat - F l) <= INR (S N)). rewrite total_moved.
    assert (X : forall M (g : nat -> R), (forall l, g l <= 1) -> total M g <= INR M).
    { induction M; intros g G. simpl. lra. rewrite S_INR. simpl. generalize (IHM g G) (G M). lra. }
    apply X. intro l. unfold F. generalize (probability_likely _ _ law _ (Q_event (- B + INR (S L + l) * h)))
      (probability_likely _ _ law _ (Q_event (- B + INR l * h))). lra. }
  assert (I' : P (fun w => D w /\ cell (- B) (- B + INR (S L) * h) w) <= t / (sigma * sqrt (2 * PI)) + e / 2).
  { apply Rle_trans with (1 := I). apply Rle_trans with (h / (sigma * sqrt (2 * PI)) * INR (S N)).
    - apply Rmult_le_compat_l. left; apply Rdiv_lt_0_compat; assumption. exact T.
    - rewrite S_INR. unfold h. replace (t / INR N / (sigma * sqrt (2 * PI)) * (INR N + 1))
        with (t / (sigma * sqrt (2 * PI)) + t / (sigma * sqrt (2 * PI)) * / INR N) by (field; lra).
      apply Rplus_le_compat_l. assert (Y : 0 < t / (sigma * sqrt (2 * PI))) by (apply Rdiv_lt_0_compat; assumption).
      apply (Rmult_lt_compat_l (t / (sigma * sqrt (2 * PI)))) in HN; [|exact Y].
      replace (t / (sigma * sqrt (2 * PI)) * (e / 2 / (t / (sigma * sqrt (2 * PI))))) with (e / 2) in HN by (field; lra). lra. }
  rewrite (split_event _ _ law D (cell (- B) (- B + INR (S L) * h)) between_event (slice_event _ _)).
  assert (O : P (fun w => D w /\ ~ cell (- B) (- B + INR (S L) * h) w) <= e / 2).
  { apply Rle_trans with (P (fun w => w i <= - B \/ ~ w i <= B)).
    - apply (probability_rises _ _ law). apply (ev_and _ _ law); [exact between_event | apply ev_not'; apply slice_event].
      apply (ev_or _ (events _ _ law)). apply coordinate_event. apply ev_not'. apply coordinate_event.
      intros w [_ Nc]. unfold cell in Nc. destruct (Rle_dec (w i) (- B)); [left; assumption | right]. intro. apply Nc. split; lra.
    - apply Rle_trans with (1 := union_bound _ _ law _ _ (coordinate_event _) (ev_not' _ (coordinate_event B))).
      rewrite (complement _ _ law) by apply coordinate_event. rewrite !coordinate_below.
      replace (- B / sigma) with (- INR k) by (unfold B; field; lra). replace (B / sigma) with (INR k) by (unfold B; field; lra).
      rewrite !Phi_tail, Ropp_involutive, tail_reflected.
      assert (tail (INR k) <= / INR k).
      { apply Rle_trans with (1 := mills _ k0). unfold Rdiv. rewrite <- (Rmult_1_l (/ INR k)) at 2.
        apply Rmult_le_compat_r. left; apply Rinv_0_lt_compat; exact k0. apply n_below_1. }
      lra. }
  lra.
Qed.
End Shifted.

(* Whether k is selected looks at the noisy scores of the K devices alone. *)
Lemma low_same m v v' w w' k : (k < K)%nat -> (forall j, (j < K)%nat -> noisy v j w = noisy v' j w') -> (among m v k w <-> among
  m v' k w').
Proof.
  intros H E. unfold among, place, count. rewrite (filter_ext_in (at_most_it v k w) (at_most_it v' k w')). tauto.
  intros j J. apply in_seq in J. unfold at_most_it. rewrite !E by lia. reflexivity.
Qed.

Lemma low_replaced_event m v k i y : (k < K)%nat -> (i < K)%nat -> ev (fun w => among m v k (replaced_at i y w)).
Proof.
  intros H I. unfold among, place. apply (count_event _ ev (fun w => at_most_it v k (replaced_at i y w))). apply (events _ _ law).
  intros j J. apply in_seq in J. apply (ev_same _ (events _ _ law) (fun w => noisy v j (replaced_at i y w) <= noisy v k
    (replaced_at i y w))).
  2: { intro. symmetry. apply at_most_it_true. }
  unfold noisy, replaced_at. destruct (Nat.eq_dec j i), (Nat.eq_dec k i).
  - destruct (Rle_dec (v j + y) (v k + y)).
    + apply (ev_same _ (events _ _ law) (fun _ => True)). apply (ev_all _ (events _ _ law)). tauto.
    + apply (ev_same _ (events _ _ law) (fun _ => ~ True)). apply ev_not'. apply (ev_all _ (events _ _ law)). tauto.
  - apply (ev_same _ (events _ _ law) (fun w => v j + y - v k <= w k)). apply (alike_above _ _ _ _ same_noise). exact H.
    intro; split; lra.
  - apply (ev_same _ (events _ _ law) (fun w => w j <= v k + y - v j)). apply (alike_normal _ _ _ _ same_noise j ltac:(lia)).
    intro; split; lra.
  - apply (ev_same _ (events _ _ law) (fun w => noisy v j w <= noisy v k w)). apply noisy_compared; lia. unfold noisy. tauto.
Qed.

Lemma one_score m v k i t : (k < K)%nat -> (i < K)%nat -> 0 < t ->
  Rabs (P (among m v k) - P (among m (replaced_at i (v i + t) v) k)) <= t / (sigma * sqrt (2 * PI)).
Proof.
  intros H I T. set (v' := replaced_at i (v i + t) v).
  assert (Here : forall w, among m v k (replaced_at i (w i) w) <-> among m v k w).
  { intro w. apply low_same. exact H. intros j J. unfold noisy, replaced_at. destruct (Nat.eq_dec j i) as [-> | N]; reflexivity. }
  assert (There : forall w, among m v k (replaced_at i (w i + t) w) <-> among m v' k w).
  { intro w. apply low_same. exact H. intros j J. unfold v', noisy, replaced_at. destruct (Nat.eq_dec j i) as [-> | N]; ring. }
  assert (Away : forall y, without_coordinate i (fun w => among m v k (replaced_at i y w))).
  { intros y w s0. apply low_same. exact H. intros j J. unfold noisy, replaced_at. destruct (Nat.eq_dec j i); reflexivity. }
  generalize (low_event m v k H) (low_event m v' k H). intros E E'.
  destruct (Nat.eq_dec i k) as [-> | N].
  - (* its own score rises: it is selected less often *)
    assert (Less : forall y y' w, y <= y' -> among m v k (replaced_at k y' w) -> among m v k (replaced_at k y w)).
    { intros y y' w O L. unfold among, place in *. apply Nat.le_trans with (2 := L). apply count_rises. intros j J B.
      apply at_most_it_true in B. apply at_most_it_true. unfold noisy, replaced_at in *.
        destruct (Nat.eq_dec j k), (Nat.eq_dec k k); lra || congruence. }
    assert (Eq : forall w, (~ among m v k (replaced_at k (w k + t) w) /\ ~ ~ among m v k (replaced_at k (w k) w)) <-> (among m v
      k w /\ ~ among m v' k w)).
    { intro w. rewrite Here, There. split; intros [a b]; split; tauto || (apply Classical_Prop.NNPP; tauto). }
    assert (Ed : ev (fun w => among m v k w /\ ~ among m v' k w)) by (apply (ev_and _ _ law); [|apply ev_not']; assumption).
    assert (B : P (fun w => among m v k w /\ ~ among m v' k w) <= t / (sigma * sqrt (2 * PI))).
    { rewrite (same_event _ _ law _ _ Ed (fun w => iff_sym (Eq w))).
      apply (between_at_most k (fun y w => ~ among m v k (replaced_at k y w)) t); try assumption.
      - intro y. apply ev_not'. apply low_replaced_event; assumption.
      - intros y w s0. specialize (Away y w s0). cbv beta in Away. tauto.
      - intros y y' w O L L'. apply L. apply (Less y y'); assumption.
      - apply (ev_same _ (events _ _ law) _ _ Ed). intro. symmetry. apply Eq. }
    generalize (split_event _ _ law _ _ E E').
    rewrite (same_event _ _ law (fun w => among m v k w /\ among m v' k w) (among m v' k)).
    + generalize (not_negative _ _ law _ Ed). intros. rewrite Rabs_right; lra.
    + apply (ev_and _ _ law); assumption.
    + intro w. split; [tauto|]. intro L. split; [|exact L]. apply Here. apply There in L.
      apply (Less (w k) (w k + t)); [lra | exact L].
  - (* another score rises: it is selected more often *)
    assert (More : forall y y' w, y <= y' -> among m v k (replaced_at i y w) -> among m v k (replaced_at i y' w)).
    { intros y y' w O L. unfold among, place in *. apply Nat.le_trans with (2 := L). apply count_rises. intros j J B.
      apply at_most_it_true in B. apply at_most_it_true. unfold noisy, replaced_at in *.
        destruct (Nat.eq_dec j i), (Nat.eq_dec k i); lra || congruence. }
    assert (Eq : forall w, (among m v k (replaced_at i (w i + t) w) /\ ~ among m v k (replaced_at i (w i) w)) <-> (among m v' k
      w /\ ~ among m v k w)).
    { intro w. rewrite Here, There. tauto. }
    assert (Ed : ev (fun w => among m v' k w /\ ~ among m v k w)) by (apply (ev_and _ _ law); [|apply ev_not']; assumption).
    assert (B : P (fun w => among m v' k w /\ ~ among m v k w) <= t / (sigma * sqrt (2 * PI))).
    { rewrite (same_event _ _ law _ _ Ed (fun w => iff_sym (Eq w))).
      apply (between_at_most i (fun y w => among m v k (replaced_at i y w)) t); try assumption.
      - intro y. apply low_replaced_event; assumption.
      - apply (ev_same _ (events _ _ law) _ _ Ed). intro. symmetry. apply Eq. }
    generalize (split_event _ _ law _ _ E' E).
    rewrite (same_event _ _ law (fun w => among m v' k w /\ among m v k w) (among m v k)).
    + generalize (not_negative _ _ law _ Ed). intros. rewrite Rabs_left1; lra.
    + apply (ev_and _ _ law); assumption.
    + intro w. split; [tauto|]. intro L. split; [|exact L]. apply There. apply Here in L.
      apply (More (w i) (w i + t)); [lra | exact L].
Qed.

Lemma one_score_any m v k i y : (k < K)%nat -> (i < K)%nat ->
  Rabs (P (among m v k) - P (among m (replaced_at i y v) k)) <= Rabs (v i - y) / (sigma * sqrt (2 * PI)).
Proof.
  intros H I. assert (Eq : forall v1 v2, (forall j, v1 j = v2 j) -> P (among m v1 k) = P (among m v2 k)).
  { intros v1 v2 E. apply (same_event _ _ law). apply low_event; exact H. intro w. apply low_same. exact H. intros.
    unfold noisy. rewrite E. reflexivity. }
  destruct (Rtotal_order (v i) y) as [L | [E | G]].
  - generalize (one_score m v k i (y - v i) H I ltac:(lra)). replace (v i + (y - v i)) with y by ring.
    rewrite (Rabs_left1 (v i - y)) by lra. replace (- (v i - y)) with (y - v i) by ring. trivial.
  - rewrite (Eq (replaced_at i y v) v), Rminus_diag_eq, Rabs_R0 by (trivial || (intro j; unfold replaced_at;
    destruct (Nat.eq_dec j i); congruence)).
    apply Rmult_le_pos. apply Rabs_pos. left. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat. apply sigma_positive; lia.
      apply root_positive.
  - set (v' := replaced_at i y v). assert (Vi : v' i = y) by (unfold v', replaced_at; destruct (Nat.eq_dec i i); congruence).
    generalize (one_score m v' k i (v i - y) H I ltac:(lra)). rewrite Vi. replace (y + (v i - y)) with (v i) by ring.
    rewrite (Eq (replaced_at i (v i) v') v).
    + rewrite Rabs_minus_sym, (Rabs_right (v i - y)) by lra. trivial.
    + intro j. unfold v', replaced_at. destruct (Nat.eq_dec j i); congruence.
Qed.

(** The probabilities of selection are near to m / K, the nearer the greater the noise; c may be any number, for instance the
   median. *)
Theorem FDP_R8 m u c chosen k : (k < K)%nat -> (m <= K)%nat -> selects _ K (noisy u) m chosen -> ev (fun w => chosen w k = true)
  ->
  Rabs (P (fun w => chosen w k = true) - INR m / INR K) <= total K (fun j => Rabs (u j - c)) / (sigma * sqrt (2 * PI)) /\
  is_lim (fun s => total K (fun j => Rabs (u j - c)) / (s * sqrt (2 * PI))) p_infty 0.
Proof.
  intros H M S E. split; [|apply vanishes_with_noise]. rewrite (selected_low m u chosen k S H E). rewrite <- (by_lot m c k H M).
  set (v := fun l j => if lt_dec j l then c else u j).
  assert (Step : forall l, (l <= K)%nat -> Rabs (P (among m u k) - P (among m (v l) k)) <= total l (fun j => Rabs (u j - c)) /
    (sigma * sqrt (2 * PI))).
  { induction l as [|l IH]; intro L.
    - unfold v. rewrite Rminus_diag_eq by reflexivity. rewrite Rabs_R0. simpl. unfold Rdiv. rewrite Rmult_0_l. lra.
    - apply Rle_trans with (Rabs (P (among m u k) - P (among m (v l) k)) + Rabs (P (among m (v l) k) - P (among m (v
      (Datatypes.S l)) k))).
      + replace (P (among m u k) - P (among m (v (Datatypes.S l)) k))
          with ((P (among m u k) - P (among m (v l) k)) + (P (among m (v l) k) - P (among m (v (Datatypes.S l)) k))) by ring.
            apply Rabs_triang.
      + simpl. unfold Rdiv. rewrite Rmult_plus_distr_r. apply Rplus_le_compat. apply IH; lia.
        assert (V : P (among m (v (Datatypes.S l)) k) = P (among m (replaced_at l c (v l)) k)).
        { apply (same_event _ _ law). apply low_event; exact H. intro w. apply low_same. exact H. intros j J.
          unfold noisy, v, replaced_at.
          destruct (Nat.eq_dec j l), (lt_dec j (Datatypes.S l)), (lt_dec j l); reflexivity || lia. }
        rewrite V. replace (u l) with (v l l) by (unfold v; destruct (lt_dec l l); [lia | reflexivity]).
          apply one_score_any; [exact H | lia]. }
  replace (P (among m (fun _ => c) k)) with (P (among m (v K) k)). apply Step. lia.
  apply (same_event _ _ law). apply low_event; exact H. intro w. apply low_same. exact H. intros j J. unfold noisy, v.
  destruct (lt_dec j K); [reflexivity | lia].
Qed.
End Alike.

(** Remark 2: what is received has r independent coordinates; coordinate m v is the expectation over one of mean m whose noise
   has the variance v: normal here, though only that constants are their own means is used. *)
Section More_coordinates.
Variable coordinate : R -> R -> (R -> R) -> R.
Hypothesis unit_mass : forall m v c, coordinate m v (fun _ => c) = c.

Fixpoint received_mean (v : R) (means : list R) (f : list R -> R) : R :=
  match means with
  | [] => f []
  | m :: ms => coordinate m v (fun y => received_mean v ms (fun ys => f (y :: ys)))
  end.

Lemma received_constant v ms c : received_mean v ms (fun _ => c) = c.
Proof.
  induction ms as [|m ms IH]; simpl. reflexivity. transitivity (coordinate m v (fun _ => c)); [|apply unit_mass].
  f_equal. apply FunctionalExtensionality.functional_extensionality. intro. exact IH.
Qed.

Lemma received_first v ms more : forall f, received_mean v (ms ++ more) (fun ys => f (firstn (length ms) ys)) = received_mean v
  ms f.
Proof.
  induction ms as [|m ms IH]; intro f; simpl. apply (received_constant v more (f [])).
  f_equal. apply FunctionalExtensionality.functional_extensionality. intro y. apply (IH (fun ys => f (y :: ys))).
Qed.

Lemma received_shorter v ms more k f : length ms = k -> received_mean v (ms ++ more) (fun ys => f (firstn k ys)) = received_mean
  v ms f.
Proof. intros <-. apply received_first. Qed.

(* Events of r coordinates, or tests, are events of more, in which the others do not count. *)
Variable event : nat -> (list R -> R) -> Prop.
Hypothesis lifted : forall r more f, event r f -> event (r + more) (fun ys => f (firstn r ys)).

(* The others take part as the i-th of n sets with the probability w i, which is seen, and their codes are known; v1 i is the
   variance of the noise with device k, v0 i that without; d is the greatest norm of its code. *)
Variables (n : nat) (w v1 v0 : nat -> R) (p lambda d : R).

Definition with_code (x : list R) (A : nat -> list R -> R) : R :=
  total n (fun i => w i * (p * received_mean (v1 i) x (A i) + (1 - p) * received_mean (v0 i) (map (fun _ => 0) x) (A i))).
Definition without_code (x : list R) (A : nat -> list R -> R) : R := total n (fun i => w i * received_mean (v0 i) (map (fun _ =>
  0) x) (A i)).

Definition code (r : nat) (x : list R) : Prop := length x = r /\ square x <= d * d.
Definition either (P Q z : R) : Prop := z = P - lambda * Q \/ z = Q - lambda * P.

(* All differences of neighbours, in both orders: the device is there or not (absent), or has another code (replace), or none
   (silent). *)
Definition gains_absent (r : nat) (z : R) : Prop :=
  exists x A, code r x /\ (forall i, event r (A i)) /\ either (with_code x A) (without_code x A) z.
Definition gains_hidden (replace : bool) (r : nat) (z : R) : Prop :=
  exists x x' A, code r x /\ code r x' /\ (replace = false -> x' = map (fun _ => 0) x) /\ (forall i, event r (A i)) /\
  either (with_code x A) (with_code x' A) z.

Definition zeros (more : nat) : list R := map (fun _ => 0) (seq 0 more).

Lemma square_zeros more : square (zeros more) = 0.
Proof. unfold zeros. generalize 0%nat. induction more; intro k; simpl. reflexivity. rewrite IHmore. ring. Qed.

Lemma square_app a b : square (a ++ b) = square a + square b.
Proof. induction a; simpl. ring. rewrite IHa. ring. Qed.

Lemma code_lifted r more x : code r x -> code (r + more) (x ++ zeros more).
Proof.
  intros [L S]. split. rewrite app_length, L. unfold zeros. rewrite map_length, seq_length. reflexivity.
  rewrite square_app, square_zeros. lra.
Qed.

Definition lift (r : nat) (A : nat -> list R -> R) : nat -> list R -> R := fun i ys => A i (firstn r ys).

Lemma with_lifted r more x A : length x = r -> with_code (x ++ zeros more) (lift r A) = with_code x A.
Proof.
  intro L. unfold with_code. apply total_ext. intros i _. unfold lift. rewrite map_app.
  rewrite !received_shorter by (rewrite ?map_length; exact L). reflexivity.
Qed.

Lemma without_lifted r more x A : length x = r -> without_code (x ++ zeros more) (lift r A) = without_code x A.
Proof.
  intro L. unfold without_code. apply total_ext. intros i _. unfold lift. rewrite map_app.
  rewrite received_shorter by (rewrite ?map_length; exact L). reflexivity.
Qed.

Theorem FDP_R2 r more shorter longer : is_lub (gains_absent r) shorter -> is_lub (gains_absent (r + more)) longer -> shorter <=
  longer.
Proof.
  intros [_ L] [U _]. apply L. intros z [x [A [C [E G]]]]. apply U. exists (x ++ zeros more), (lift r A).
  split. apply code_lifted. exact C. split. intro i. apply (lifted r more (A i)). apply E.
  rewrite with_lifted, without_lifted by apply C. exact G.
Qed.

Theorem FDP_R2_hidden replace r more shorter longer :
  is_lub (gains_hidden replace r) shorter -> is_lub (gains_hidden replace (r + more)) longer -> shorter <= longer.
Proof.
  intros [_ L] [U _]. apply L. intros z [x [x' [A [C [C' [Z [E G]]]]]]]. apply U.
    exists (x ++ zeros more), (x' ++ zeros more), (lift r A).
  split. apply code_lifted. exact C. split. apply code_lifted. exact C'. split.
  - intro S. rewrite (Z S), map_app. f_equal. unfold zeros. rewrite map_map. reflexivity.
  - split. intro i. apply (lifted r more (A i)). apply E. rewrite !with_lifted by (apply C || apply C'). exact G.
Qed.
End More_coordinates.

(** Lemma 2, corrected: a noisy score t, and what is received if it selects the device. *)
Lemma delta_rises m m' eps : 0 < m -> m <= m' -> delta m eps <= delta m' eps.
Proof.
  intros M O. apply exact_curve. exact M. intros phi A B [Hp [If Ig]] H.
  assert (Q : forall c x, normal c 1 x = n (x - c)) by (intros; unfold normal; replace ((x - c) / 1) with (x - c) by field;
    field).
  assert (Ef : forall x, law (moved [0] [m]) 1 [x] = n (x - m)) by (intro x; simpl; rewrite Q, Rplus_0_l; ring).
  assert (Eg : forall x, law [0] 1 [x] = n x) by (intro x; simpl; rewrite Q, Rminus_0_r; ring).
  assert (T : test_in 1 (law (moved [0] [m]) 1) (law [0] 1) (fun xs => phi (hd 0 xs))).
  { split. intro; apply Hp. split; simpl; split; trivial; intros a b.
    - apply (ex_RInt_ext (fun x => phi x * n (x - m))). intros x _. f_equal. symmetry. apply Ef. apply If.
    - apply (ex_RInt_ext (fun x => phi x * n x)). intros x _. f_equal. symmetry. apply Eg. apply Ig. }
  generalize (several 1 Rlt_0_1 [0] [m] m' eps eq_refl ltac:(lra) ltac:(simpl; nra) _ A B T H). simpl.
  intro L. apply Rle_trans with (2 := L). right. f_equal; [|f_equal]; apply RInt_ext; intros x _; f_equal; symmetry;
    [apply Ef | apply Eg].
Qed.

Definition apart (a1 a2 : list R) : list R := moved a1 (map (fun t => -1 * t) a2).

Lemma moved_apart : forall a1 a2, length a1 = length a2 -> moved a2 (apart a1 a2) = a1 /\ length (apart a1 a2) = length a2.
Proof.
  unfold apart. induction a1 as [|x a1 IH]; intros [|y a2]; simpl; try discriminate. auto.
  intro H. injection H as H. destruct (IH a2 H) as [E L]. rewrite E, L. split; [f_equal; ring | reflexivity].
Qed.

(* The joint density of the score, of mean u, and of r numbers that are received: normal around the codes a where the score
   selects the device, else of any law h that neighbours share. *)
Definition scored (sg : R) (sel : R -> bool) (s : R) (h : R -> list R -> R) (u : R) (a : list R) (xs : list R) : R :=
  match xs with
  | t :: ys => normal u sg t * (if sel t then law a s ys else h t ys)
  | [] => 0
  end.

Definition is_density (r : nat) (h : list R -> R) : Prop :=
  (forall ys, 0 <= h ys) /\ forall phi A B, (forall ys, 0 <= phi ys <= 1) -> A <= B -> integrable r (fun ys => phi ys * h ys) ->
  box r (fun ys => phi ys * h ys) A B <= 1.

(* The normal laws are densities in this sense. *)
Lemma law_density a s : 0 < s -> is_density (length a) (law a s).
Proof.
  intro S. split. apply law_not_negative. exact S. induction a as [|m a IH]; intros phi A B Hp O I.
  - simpl. generalize (Hp []). lra.
  - simpl in I. destruct I as [I1 I2]. simpl.
    assert (M : is_RInt (normal m s) A B (RInt n (/ s * A + - m / s) (/ s * B + - m / s))).
    { apply (is_RInt_ext (fun x => scal (/ s) (n (/ s * x + - m / s)))).
      - intros x _. unfold normal, scal; simpl; unfold mult; simpl. replace (/ s * x + - m / s) with ((x - m) / s) by (field;
        lra). field. lra.
      - apply (is_RInt_comp_lin (V := R_NormedModule)). apply (RInt_correct (V := R_CompleteNormedModule)). apply n_integrable. }
    apply Rle_trans with (RInt (normal m s) A B).
    + apply RInt_le; try assumption. apply I2. eexists. exact M. intros x _.
      destruct (conditional (length a) phi (normal m s x) (law a s) x) as [C1 C2].
      { generalize (normal_positive s S m x). lra. } { apply I1. }
      rewrite C2. rewrite <- (Rmult_1_r (normal m s x)) at 2. apply Rmult_le_compat_l. left; apply normal_positive; exact S.
      apply IH; try assumption. intro; apply Hp.
    + rewrite (is_RInt_unique _ _ _ _ M).
      generalize (tail_split (/ s * A + - m / s) (/ s * B + - m / s)) (tail_not_negative (/ s * B + - m / s)) (tail_reflected (/
        s * A + - m / s))
        (tail_not_negative (- (/ s * A + - m / s))). lra.
Qed.

Lemma scored_below sg sel s h u u' a1 a2 b eps : 0 < sg -> 0 < s -> 0 < b -> length a1 = length a2 ->
  square (apart a1 a2) <= b * s * (b * s) -> (forall t, is_density (length a2) (h t)) ->
  below_in (S (length a2)) (scored sg sel s h u a1) (scored sg sel s h u' a2) eps
    (delta (sqrt ((u - u') / sg * ((u - u') / sg) + b * b)) eps).
Proof.
  intros G0 S0 B0 L Sq Hh phi A B [Hphi [If Ig]] O. set (r := length a2) in *.
  destruct (moved_apart a1 a2 L) as [Ma La]. set (v := apart a1 a2) in *. fold r in La.
  simpl in If, Ig. destruct If as [If1 If2]. destruct Ig as [Ig1 Ig2].
  set (f1 := fun x ys => if sel x then law a1 s ys else h x ys). set (g1 := fun x ys => if sel x then law a2 s ys else h x ys).
  set (U := fun x => box r (fun ys => phi (x :: ys) * f1 x ys) A B).
  set (W := fun x => box r (fun ys => phi (x :: ys) * g1 x ys) A B).
  assert (EU : forall x, box r (fun ys => phi (x :: ys) * (normal u sg x * f1 x ys)) A B = normal u sg x * U x).
  { intro x. apply conditional. generalize (normal_positive sg G0 u x); lra. apply If1. }
  assert (EW : forall x, box r (fun ys => phi (x :: ys) * (normal u' sg x * g1 x ys)) A B = normal u' sg x * W x).
  { intro x. apply conditional. generalize (normal_positive sg G0 u' x); lra. apply Ig1. }
  assert (IU : ex_RInt (fun x => normal u sg x * U x) A B).
  { refine (ex_RInt_ext _ _ _ _ _ (If2 A B)). intros x _. apply EU. }
  assert (IW : ex_RInt (fun x => normal u' sg x * W x) A B).
  { refine (ex_RInt_ext _ _ _ _ _ (Ig2 A B)). intros x _. apply EW. }
  simpl.
  rewrite (RInt_ext _ (fun x => normal u sg x * U x)) by (intros; apply EU).
  rewrite (RInt_ext (fun x => box r (fun ys => phi (x :: ys) * (normal u' sg x * g1 x ys)) A B) (fun x => normal u' sg x * W x))
    by (intros; apply EW).
  rewrite <- (scaled (fun x => normal u' sg x * W x)) by exact IW.
  rewrite <- (difference (fun x => normal u sg x * U x) (fun x => exp eps * (normal u' sg x * W x)));
    [|exact IU | apply times_integrable; exact IW].
  destruct (coordinate sg G0 u' (u - u') b eps A B B0 O) as [IC C].
  apply Rle_trans with (2 := C). apply RInt_le. exact O.
  - apply (ex_RInt_minus (V := R_NormedModule) (fun x => normal u sg x * U x)). exact IU. apply times_integrable. exact IW.
  - exact IC.
  - intros x _. set (e := (u - u') / sg * ((x - u') / sg) - (u - u') / sg * ((u - u') / sg) / 2).
    replace (u' + (u - u')) with u by ring. generalize (normal_positive sg G0 u x). intro P.
    assert (R : normal u sg x = normal u' sg x * exp e).
    { generalize (normal_ratio sg G0 u' (u - u') x). fold e. replace (u' + (u - u')) with u by ring. trivial. }
    assert (K : U x - exp (eps - e) * W x <= delta b (eps - e)).
    { destruct (conditional r phi (normal u sg x) (f1 x) x) as [C1 _]. lra. apply If1.
      destruct (conditional r phi (normal u' sg x) (g1 x) x) as [C2 _]. generalize (normal_positive sg G0 u' x); lra. apply Ig1.
      unfold U, W. unfold f1, g1 in *. destruct (sel x).
      - assert (T : test_in (length v) (law (moved a2 v) s) (law a2 s) (fun ys => phi (x :: ys))).
        { rewrite Ma, La. split. intro; apply Hphi. split; assumption. }
        generalize (several s S0 a2 v b (eps - e) (eq_sym La) B0 Sq _ A B T O). rewrite Ma, La. trivial.
      - destruct (Hh x) as [H0 H1]. set (J := box r (fun ys => phi (x :: ys) * h x ys) A B).
        assert (J0 : 0 <= J) by (apply box_not_negative; try assumption; intro; apply Rmult_le_pos; [apply Hphi | apply H0]).
        assert (J1 : J <= 1) by (apply H1; try assumption; intro; apply Hphi).
        generalize (delta_not_negative b (eps - e) B0) (delta_floor b (eps - e) B0) (exp_pos (eps - e)). intros. nra. }
    replace (exp eps * (normal u' sg x * W x)) with (normal u sg x * (exp (eps - e) * W x)).
    + rewrite <- Rmult_minus_distr_l. apply Rmult_le_compat_l; lra.
    + rewrite R, exp_difference. field. generalize (exp_pos e). lra.
Qed.

(* With less noise, and scores and codes that differ less. *)
Lemma scored_below_at_least sg sel s h u u' a1 a2 Du d v eps : 0 < sg -> Rabs (u - u') <= Du -> 0 < d -> 0 < v -> v <= s * s ->
  0 < s ->
  length a1 = length a2 -> square (apart a1 a2) <= d * d -> (forall t, is_density (length a2) (h t)) ->
  below_in (S (length a2)) (scored sg sel s h u a1) (scored sg sel s h u' a2) eps (delta (sqrt (Du / sg * (Du / sg) + d * d /
    v)) eps).
Proof.
  intros G0 HD D0 V0 V S0 L Sq Hh. generalize (sqrt_lt_R0 v V0). intro R0. intros phi A B T O.
  assert (B0 : 0 < d / s) by (apply Rdiv_lt_0_compat; assumption).
  generalize (scored_below sg sel s h u u' a1 a2 (d / s) eps G0 S0 B0 L
    ltac:(replace (d / s * s * (d / s * s)) with (d * d) by (field; lra); exact Sq) Hh phi A B T O). intro K.
  apply Rle_trans with (1 := K). assert (B1 : 0 < d / s * (d / s)) by (apply Rmult_lt_0_compat; assumption).
  generalize (Rle_0_sqr ((u - u') / sg)). unfold Rsqr. intro Q0. apply delta_rises. apply sqrt_lt_R0. lra. apply sqrt_le_1_alt.
    apply Rplus_le_compat.
  - replace ((u - u') / sg * ((u - u') / sg)) with ((u - u') * (u - u') * / (sg * sg)) by (field; lra).
    replace (Du / sg * (Du / sg)) with (Du * Du * / (sg * sg)) by (field; lra).
    apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat. nra. unfold Rabs in HD. destruct (Rcase_abs (u - u')); nra.
  - replace (d / s * (d / s)) with (d * d * / (s * s)) by (field; lra). apply Rmult_le_compat_l. nra.
    apply Rinv_le_contravar; assumption.
Qed.

(** Scheme 2.2: o are the others' noisy scores, which are released, with any law. Given them the own score alone decides whether
   device k is selected (sel o), together with the m - 1 others of chosen o; where it is not, neighbours have one law (hidden
   o). a o and a' o are the codes of all that are selected, for two neighbours at a distance of at most d; either may come
   first. *)
Section Lowest.
Variables (T : Type) (F : (T -> R) -> Prop) (E : (T -> R) -> R).
Variables (idle : bool) (others : list nat) (m r : nat) (noise : nat -> R) (noise_k receiver gamma : R).
Variables (chosen : T -> list nat) (variance : T -> R) (sel : T -> R -> bool) (hidden : T -> R -> list R -> R) (a a' : T -> list
  R).
Variables (sg u u' Du d v eps : R).
Hypothesis class : functions F.
Hypothesis mean : expectation F E.
Hypothesis positive : 0 < sg /\ 0 < d /\ 0 < v.
Hypothesis scores_near : Rabs (u - u') <= Du.
Hypothesis selected_others : forall o, NoDup (chosen o) /\ incl (chosen o) others /\ length (chosen o) = (m - 1)%nat.
(* v is the least noise that k and m - 1 others send, or that of all, where absent devices send noise too (idle) *)
Hypothesis least_noise : forall J, (if idle then J = others else NoDup J /\ incl J others /\ length J = (m - 1)%nat) ->
  v <= gamma * gamma * (noise_k + sum_over J noise) + receiver.
Hypothesis all_noise : forall o, variance o = gamma * gamma * (noise_k + sum_over (if idle then others else chosen o) noise) +
  receiver.
Hypothesis codes : forall o, length (a o) = r /\ length (a' o) = r /\ square (apart (a o) (a' o)) <= d * d.
Hypothesis shared : forall o t, is_density r (hidden o t).

Let one (o : T) := scored sg (sel o) (sqrt (variance o)) (hidden o) u (a o).
Let other (o : T) := scored sg (sel o) (sqrt (variance o)) (hidden o) u' (a' o).

Theorem FDP_L2_star_2_2 (A : forall o, look_in (S r) [one o; other o]) :
  F (fun o => chance_in (one o) (A o)) -> F (fun o => chance_in (other o) (A o)) ->
  E (fun o => chance_in (one o) (A o)) - exp eps * E (fun o => chance_in (other o) (A o)) <= delta (sqrt (Du / sg * (Du / sg) +
    d * d / v)) eps.
Proof.
  intros F1 F2. set (D := delta _ eps). destruct positive as [P1 [P2 P3]].
  assert (K : forall o, chance_in (one o) (A o) <= exp eps * chance_in (other o) (A o) + D * 1).
  { intro o. destruct (selected_others o) as [N [I L]]. destruct (codes o) as [La [La' Sq]].
    assert (V : v <= variance o) by (rewrite all_noise; apply least_noise; destruct idle; [reflexivity | repeat split;
      assumption]).
    assert (S0 : 0 < sqrt (variance o)) by (apply sqrt_lt_R0; lra).
    assert (W : @within (look_in (S r) [one o; other o]) (exp eps) (chance_in (one o)) (chance_in (other o)) D).
    { apply below_look_in; simpl; auto. unfold one, other, D. rewrite <- La'.
      apply scored_below_at_least; try assumption. rewrite sqrt_sqrt; lra. congruence. intro t. rewrite La'. apply shared. }
    generalize (W (A o)). lra. }
  enough (E (fun o => chance_in (one o) (A o)) <= exp eps * E (fun o => chance_in (other o) (A o)) + D * 1) by lra.
  replace (exp eps * E (fun o => chance_in (other o) (A o)) + D * 1) with (exp eps * E (fun o => chance_in (other o) (A o)) + D
    * E (fun _ => 1))
    by (rewrite (Divergence.one _ _ mean); ring).
  rewrite <- (linear _ _ mean) by (try exact F2; apply (constants _ class)).
  apply (rises _ _ mean). exact F1. apply (combined _ class _ _ _ (fun _ => 1)); [exact F2 | apply (constants _ class)]. exact K.
Qed.
End Lowest.

(** Independent devices take part with the probabilities ps; S tells which. *)
Fixpoint over_sets (ps : list R) (f : list bool -> R) : R :=
  match ps with
  | [] => f []
  | p :: ps => p * over_sets ps (fun S => f (true :: S)) + (1 - p) * over_sets ps (fun S => f (false :: S))
  end.

Lemma over_sets_at_most ps : (forall p, In p ps -> 0 <= p <= 1) -> forall f g, (forall S,
  f S <= g S) -> over_sets ps f <= over_sets ps g.
Proof.
  induction ps as [|p ps IH]; intros H f g L; simpl. apply L. assert (0 <= p <= 1) by (apply H; left; reflexivity).
  assert (H' : forall p, In p ps -> 0 <= p <= 1) by (intros; apply H; right; assumption).
  apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply IH; try assumption; intro; apply L.
Qed.

Lemma over_sets_combined ps a b : forall f g, over_sets ps (fun S => a * f S + b * g S) = a * over_sets ps f + b * over_sets ps g.
Proof.
  induction ps as [|p ps IH]; intros f g; simpl. reflexivity.
  rewrite (IH (fun S => f (true :: S)) (fun S => g (true :: S))), (IH (fun S => f (false :: S)) (fun S => g (false :: S))). ring.
Qed.

(* The noise of those who take part; of all, where absent devices send noise too. *)
Fixpoint heard (idle : bool) (noise : list R) (S : list bool) : R :=
  match noise, S with
  | s :: noise, b :: bs => (if orb b idle then s else 0) + heard idle noise bs
  | _, _ => 0
  end.

Lemma heard_not_negative idle noise : (forall s, In s noise -> 0 <= s) -> forall S, 0 <= heard idle noise S.
Proof.
  induction noise as [|s noise IH]; intros H [|b bs]; simpl; try lra. assert (0 <= s) by (apply H; left; reflexivity).
  assert (0 <= heard idle noise bs) by (apply IH; intros; apply H; right; assumption). destruct (orb b idle); lra.
Qed.

(* What falls with the noise is greater if the others are less likely to take part. *)
Lemma over_sets_less_likely idle noise : (forall s, In s noise -> 0 <= s) -> forall ps qs,
  Forall2 (fun q p => 0 <= q <= p /\ p <= 1) qs ps ->
  forall G, (forall x y, 0 <= x -> x <= y -> G y <= G x) ->
  over_sets ps (fun S => G (heard idle noise S)) <= over_sets qs (fun S => G (heard idle noise S)).
Proof.
  induction noise as [|s noise IH]; intros Hs ps qs H G HG.
  - assert (C : forall l, over_sets l (fun _ => G 0) = G 0) by (induction l as [|x l IHl]; simpl; [reflexivity | rewrite IHl;
    ring]).
    change (over_sets ps (fun _ => G 0) <= over_sets qs (fun _ => G 0)).
    rewrite !C. lra.
  - destruct H as [|q p qs ps [Q1 Q2] H]; simpl. lra.
    assert (S0 : 0 <= s) by (apply Hs; left; reflexivity). assert (Hn : forall s, In s noise -> 0 <= s) by (intros; apply Hs;
      right; assumption).
    assert (Ps : forall x, In x ps -> 0 <= x <= 1).
    { clear - H. induction H as [|q' p' qs ps [A B] H IH]; intros x I. destruct I. destruct I as [<- | I]. lra. apply IH.
      exact I. }
    set (with_ := fun l => over_sets l (fun S => G (s + heard idle noise S))).
    set (without := fun l => over_sets l (fun S => G ((if idle then s else 0) + heard idle noise S))).
    assert (M1 : with_ ps <= with_ qs) by (apply (IH Hn ps qs H (fun x => G (s + x))); intros x y X Y; apply HG; lra).
    assert (M2 : without ps <= without qs).
    { apply (IH Hn ps qs H (fun x => G ((if idle then s else 0) + x))); intros x y X Y; apply HG; destruct idle; lra. }
    assert (M3 : with_ ps <= without ps).
    { apply over_sets_at_most. exact Ps. intro S. generalize (heard_not_negative idle noise Hn S). intro.
      apply HG; destruct idle; lra. }
    change (p * with_ ps + (1 - p) * without ps <= q * with_ qs + (1 - q) * without qs).
    assert (p * with_ ps + (1 - p) * without ps <= q * with_ ps + (1 - q) * without ps) by nra.
    assert (q * with_ ps <= q * with_ qs) by (apply Rmult_le_compat_l; lra).
    assert ((1 - q) * without ps <= (1 - q) * without qs) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** Scheme 2.1: the j-th of n others has the score u_other j, at most u_max j, with noise s_other j, and takes part if its noisy
   score is at most eta; the server sees the noisy score of device k, which takes part below eta too, and who else takes part.
   *)
Section Threshold.
Variables (n r : nat) (u_other u_max s_other : nat -> R) (noise : nat -> R) (idle : bool) (noise_k receiver gamma : R).
Variables (hidden : list bool -> R -> list R -> R) (a a' : list bool -> list R) (eta sg u u' Du d eps : R).
Hypothesis positive : 0 < sg /\ 0 < d /\ 0 < gamma * gamma * noise_k + receiver.
Hypothesis noises : forall j, (j < n)%nat -> 0 <= noise j /\ 0 < s_other j /\ u_other j <= u_max j.
Hypothesis scores_near : Rabs (u - u') <= Du.
Hypothesis codes : forall S, length (a S) = r /\ length (a' S) = r /\ square (apart (a S) (a' S)) <= d * d.
Hypothesis shared : forall S t, is_density r (hidden S t).

Let likely_ := map (fun j => Phi ((eta - u_other j) / s_other j)) (seq 0 n).
Let least_likely := map (fun j => Phi ((eta - u_max j) / s_other j)) (seq 0 n).
Let variance (S : list bool) := gamma * gamma * (noise_k + heard idle (map noise (seq 0 n)) S) + receiver.
Let below_eta (t : R) : bool := if Rle_dec t eta then true else false.
Let one (S : list bool) := scored sg below_eta (sqrt (variance S)) (hidden S) u (a S).
Let other (S : list bool) := scored sg below_eta (sqrt (variance S)) (hidden S) u' (a' S).

Theorem FDP_L2_star_2_1 (A : forall S, look_in (Datatypes.S r) [one S; other S]) :
  over_sets likely_ (fun S => chance_in (one S) (A S)) - exp eps * over_sets likely_ (fun S => chance_in (other S) (A S))
  <= over_sets least_likely (fun S => delta (sqrt (Du / sg * (Du / sg) + d * d / variance S)) eps).
Proof.
  destruct positive as [P1 [P2 P3]].
  set (G := fun x => delta (sqrt (Du / sg * (Du / sg) + d * d / (gamma * gamma * (noise_k + x) + receiver))) eps).
  assert (N0 : forall s, In s (map noise (seq 0 n)) -> 0 <= s).
  { intros s I. apply in_map_iff in I. destruct I as [j [<- J]]. apply in_seq in J. apply noises. lia. }
  assert (V0 : forall x, 0 <= x -> 0 < gamma * gamma * (noise_k + x) + receiver) by (intros;
    assert (0 <= gamma * gamma * x) by nra; lra).
  assert (Ps : forall p, In p likely_ -> 0 <= p <= 1).
  { intros p I. unfold likely_ in I. apply in_map_iff in I. destruct I as [j [<- _]]. apply Phi_between. }
  apply Rle_trans with (over_sets likely_ (fun S => G (heard idle (map noise (seq 0 n)) S))).
  - replace (_ - _) with (over_sets likely_ (fun S => 1 * chance_in (one S) (A S) + - exp eps * chance_in (other S) (A S)))
      by (rewrite over_sets_combined; ring).
    apply over_sets_at_most. exact Ps. intro S. destruct (codes S) as [La [La' Sq]].
    assert (VS : 0 < variance S) by (apply V0; apply heard_not_negative; exact N0).
    assert (W : @within (look_in (Datatypes.S r) [one S; other S]) (exp eps) (chance_in (one S)) (chance_in (other S))
      (G (heard idle (map noise (seq 0 n)) S))).
    { apply below_look_in; simpl; auto. unfold one, other, G. rewrite <- La'.
      apply scored_below_at_least; try assumption. rewrite sqrt_sqrt by lra. apply Rle_refl. apply sqrt_lt_R0; exact VS.
      congruence. intro t. rewrite La'. apply shared. }
    generalize (W (A S)). lra.
  - apply over_sets_less_likely. exact N0.
    + unfold likely_, least_likely. assert (Hj : forall j, In j (seq 0 n) -> 0 < s_other j /\ u_other j <= u_max j).
      { intros j J. apply in_seq in J. destruct (noises j ltac:(lia)) as [_ [? ?]]. split; assumption. }
      revert Hj. generalize (seq 0 n). clear. induction l as [|j l IH]; simpl; intro Hj; constructor.
      * destruct (Hj j (or_introl eq_refl)) as [S0 U]. generalize (Phi_between ((eta - u_other j) / s_other j)) (Phi_between
        ((eta - u_max j) / s_other j)).
        assert (Phi ((eta - u_max j) / s_other j) <= Phi ((eta - u_other j) / s_other j)).
        { apply Phi_rises. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact S0 | lra]. }
        lra.
      * apply IH. intros i I. apply Hj. right. exact I.
    + intros x y X Y. unfold G. generalize (V0 x X) (V0 y ltac:(lra)). intros Vx Vy.
      assert (Z : 0 < d * d) by (apply Rmult_lt_0_compat; assumption). assert (Q : 0 <= Du / sg * (Du / sg)) by apply Rle_0_sqr.
      apply delta_rises. apply sqrt_lt_R0. assert (0 < d * d / (gamma * gamma * (noise_k + y) + receiver)) by (apply
        Rdiv_lt_0_compat; assumption). lra.
      apply sqrt_le_1_alt. apply Rplus_le_compat_l. apply Rmult_le_compat_l. lra. apply Rinv_le_contravar. exact Vx.
      assert (gamma * gamma * x <= gamma * gamma * y) by (apply Rmult_le_compat_l; nra). lra.
Qed.
End Threshold.

(** What remains of the amplification where the noise of a present device shows. *)
Lemma box_combined d a b : forall f g A B, integrable d f -> integrable d g ->
  box d (fun xs => a * f xs + b * g xs) A B = a * box d f A B + b * box d g A B.
Proof.
  induction d as [|d IH]; intros f g A B; simpl. reflexivity. intros [F1 F2] [G1 G2].
  rewrite (RInt_ext _ (fun x => a * box d (fun xs => f (x :: xs)) A B + b * box d (fun xs => g (x :: xs)) A B)).
  - rewrite (added (fun x => a * box d (fun xs => f (x :: xs)) A B) (fun x => b * box d (fun xs => g (x :: xs)) A B))
      by (apply times_integrable; auto).
    rewrite !scaled by auto. reflexivity.
  - intros x _. apply (IH (fun xs => f (x :: xs)) (fun xs => g (x :: xs))); auto.
Qed.

Lemma integrable_combined d a b : forall f g, integrable d f -> integrable d g -> integrable d (fun xs => a * f xs + b * g xs).
Proof.
  induction d as [|d IH]; intros f g; simpl. trivial. intros [F1 F2] [G1 G2]. split.
  - intro x. apply (IH (fun xs => f (x :: xs)) (fun xs => g (x :: xs))); auto.
  - intros A B. apply (ex_RInt_ext (fun x => a * box d (fun xs => f (x :: xs)) A B + b * box d (fun xs => g (x :: xs)) A B)).
    + intros x _. symmetry. apply (box_combined d a b (fun xs => f (x :: xs)) (fun xs => g (x :: xs))); auto.
    + apply (ex_RInt_plus (V := R_NormedModule) (fun x => a * box d (fun xs => f (x :: xs)) A B) (fun x => b * box d (fun xs =>
      g (x :: xs)) A B));
        apply times_integrable; auto.
Qed.

(* integrals over [A, B]^d look at vectors of d coordinates alone *)
Lemma box_not_negative_at d : forall f A B, A <= B -> (forall xs, length xs = d -> 0 <= f xs) -> integrable d f -> 0 <= box d f
  A B.
Proof.
  induction d; intros f A B O H; simpl. intros _. apply H. reflexivity. intros [I1 I2]. apply RInt_ge_0. exact O. apply I2.
  intros x _. apply IHd. exact O. intros xs L. apply H. simpl. rewrite L. reflexivity. apply I1.
Qed.

Lemma product_between u w : 0 <= u <= 1 -> 0 <= w <= 1 -> 0 <= u * w <= 1.
Proof. intros U W. split. apply Rmult_le_pos; lra. rewrite <- (Rmult_1_r 1). apply Rmult_le_compat; lra. Qed.

Fixpoint inner (a b : list R) : R := match a, b with x :: a, y :: b => x * y + inner a b | _, _ => 0 end.

Lemma inner_square a b : inner a b * inner a b <= square a * square b.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b]; simpl; try lra.
  - specialize (IH b). generalize (square_not_negative a) (square_not_negative b). intros A B.
    assert (C : 2 * (x * y) * inner a b <= x * x * square b + y * y * square a).
    { set (i := inner a b) in *. set (sa := square a) in *. set (sb := square b) in *.
      assert (M : i <= sqrt sa * sqrt sb /\ - i <= sqrt sa * sqrt sb).
      { generalize (sqrt_sqrt sa A) (sqrt_sqrt sb B) (sqrt_pos sa) (sqrt_pos sb). set (p := sqrt sa). set (q' := sqrt sb).
        intros Ea Eb Pa Pb.
        assert (i * i <= (p * q') * (p * q')) by nra. assert (0 <= p * q') by nra. split; nra. }
      generalize (sqrt_sqrt sa A) (sqrt_sqrt sb B). intros Ea Eb.
      assert (2 * (x * y) * i <= 2 * Rabs (x * y) * (sqrt sa * sqrt sb)).
      { unfold Rabs. destruct (Rcase_abs (x * y)); nra. }
      assert (0 <= (Rabs x * sqrt sb - Rabs y * sqrt sa) * (Rabs x * sqrt sb - Rabs y * sqrt sa)) by apply Rle_0_sqr.
      rewrite Rabs_mult in H. assert (Hx : Rabs x * Rabs x = x * x) by (unfold Rabs; destruct (Rcase_abs x); ring).
      assert (Hy : Rabs y * Rabs y = y * y) by (unfold Rabs; destruct (Rcase_abs y); ring).
      replace ((Rabs x * sqrt sb - Rabs y * sqrt sa) * (Rabs x * sqrt sb - Rabs y * sqrt sa))
        with (Rabs x * Rabs x * (sqrt sb * sqrt sb) + Rabs y * Rabs y * (sqrt sa * sqrt sa) - 2 * (Rabs x * Rabs y) * (sqrt sa *
          sqrt sb)) in H0 by ring.
      rewrite Hx, Hy, Ea, Eb in H0. lra. }
    nra.
Qed.

Lemma square_apart a b : length a = length b -> square a = square (apart a b) + 2 * inner (apart a b) b + square b.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b]; simpl; try discriminate. intros _. ring.
  intro H. injection H as H. specialize (IH b H). unfold apart in *. simpl. rewrite IH. ring.
Qed.

(* Far from 0 is far from every short vector. *)
Lemma far_from y x a b : length y = length x -> 0 <= a -> 0 <= b -> square x <= a * a -> square (apart y x) <= b * b ->
  square y <= (a + b) * (a + b).
Proof.
  intros L A B X Z. rewrite (square_apart y x L). generalize (inner_square (apart y x) x) (square_not_negative x)
    (square_not_negative (apart y x)).
  intros I X0 Z0. assert (J : inner (apart y x) x <= a * b).
  { assert (K : square (apart y x) * square x <= (a * b) * (a * b)).
    { replace ((a * b) * (a * b)) with ((b * b) * (a * a)) by ring. apply Rmult_le_compat; assumption. }
    assert (0 <= a * b) by nra. nra. }
  nra.
Qed.

Lemma normal_0 s x : 0 < s -> normal 0 s x = exp (- (x * x / (2 * (s * s)))) * / (s * sqrt (2 * PI)).
Proof.
  intro S. unfold normal, n. replace ((x - 0) / s * ((x - 0) / s) / 2) with (x * x / (2 * (s * s))) by (field; lra).
  field. split; [generalize root_positive|]; lra.
Qed.

Definition zero_code (x : list R) : list R := map (fun _ => 0) x.

Lemma square_of_zeros x : square (zero_code x) = 0.
Proof. unfold zero_code. induction x as [|y x IH]; simpl. reflexivity. rewrite IH. ring. Qed.

Lemma moved_from_zero x : moved (zero_code x) x = x.
Proof. unfold zero_code. induction x as [|y x IH]; simpl. reflexivity. rewrite IH. f_equal. ring. Qed.

(* The ratio of two normal densities around 0. *)
Lemma wider v s : 0 < v -> 0 <= s -> forall x y, length y = length x ->
  law (zero_code x) (sqrt v) y
  = sqrt (1 + s / v) ^ length x * exp (- (square y * s / (2 * v * (v + s)))) * law (zero_code x) (sqrt (v + s)) y.
Proof.
  intros V S. assert (R0 : 0 < sqrt v) by (apply sqrt_lt_R0; exact V). assert (R1 : 0 < sqrt (v + s)) by (apply sqrt_lt_R0; lra).
  assert (Q0 : sqrt v * sqrt v = v) by (apply sqrt_sqrt; lra). assert (Q1 : sqrt (v + s) * sqrt (v + s) = v + s) by (apply
    sqrt_sqrt; lra).
  assert (Q : sqrt (1 + s / v) * sqrt v = sqrt (v + s)).
  { rewrite <- sqrt_mult. f_equal. field. lra. assert (0 <= s / v) by (apply Rdiv_le_0_compat; lra). lra. lra. }
  induction x as [|x0 x IH]; intros [|y0 y]; simpl; try discriminate.
  - intros _. replace (- (0 * s / (2 * v * (v + s)))) with 0 by (field; lra). rewrite exp_0. ring.
  - intro H. injection H as H. rewrite (IH y H). rewrite !normal_0 by assumption. rewrite Q0, Q1.
    replace (- ((y0 * y0 + square y) * s / (2 * v * (v + s)))) with (- (y0 * y0 / (2 * v)) + y0 * y0 / (2 * (v + s)) + - (square
      y * s / (2 * v * (v + s))))
      by (field; lra).
    rewrite !exp_plus. rewrite exp_Ropp with (x := y0 * y0 / (2 * (v + s))).
    generalize (exp_pos (y0 * y0 / (2 * (v + s)))) root_positive. intros E1 RP.
    rewrite <- Q. field. repeat split; try lra. apply Rgt_not_eq. apply sqrt_lt_R0.
      assert (0 <= s / v) by (apply Rdiv_le_0_compat; lra). lra.
Qed.

(** y has r coordinates; the noise has the variance v in each without device k, and v + s with it; x is its code, of norm at
   most a. Q is the point that a chi-square variable of r degrees of freedom exceeds with probability tau at most: the squared
   distance of y from its mean, over its variance, is such a variable. *)
Section Weak.
Variables (x : list R) (v s a p eps tau Q : R).
Hypothesis noises : 0 < v /\ 0 <= s.
Hypothesis code_norm : 0 < a /\ square x <= a * a.
Hypothesis shares : 0 < p <= 1 /\ 0 <= eps /\ 0 <= Q /\ 0 <= tau.

Let r := length x.
Let with_code := law x (sqrt (v + s)).
Let silent := law (zero_code x) (sqrt (v + s)).
Let away := law (zero_code x) (sqrt v).
Let radius := a + sqrt ((v + s) * Q).
Let kappa := Rmin 1 (sqrt (1 + s / v) ^ r * exp (- (radius * radius * s / (2 * v * (v + s))))).
Let lambda := 1 + p * (exp eps - 1) / (p + (1 - p) * kappa).

Definition exceeds (c : list R) : Prop := forall psi A B, (forall ys, 0 <= psi ys <= 1) -> A <= B ->
  integrable r (fun ys => psi ys * law c (sqrt (v + s)) ys) ->
  (forall ys, length ys = r -> square (apart ys c) <= (v + s) * Q -> psi ys = 0) ->
  box r (fun ys => psi ys * law c (sqrt (v + s)) ys) A B <= tau.
Hypothesis quantile : exceeds x /\ exceeds (zero_code x).

Definition ball (ys : list R) : R := if Rle_dec (square ys) (radius * radius) then 1 else 0.

(* Tests of which also the part in the ball has probabilities. *)
Record look_ball : Type := {
  whole_look : look_in r [with_code; silent; away];
  in_ball : forall f, In f [with_code; silent; away] -> integrable r (fun ys => (coin_in whole_look ys * ball ys) * f ys) }.
Let seen (f : list R -> R) (A : look_ball) : R := chance_in f (whole_look A).

Lemma ball_between ys : 0 <= ball ys <= 1.
Proof. unfold ball. destruct (Rle_dec _ _); lra. Qed.

Lemma kappa_range : 0 < kappa <= 1.
Proof.
  unfold kappa. split; [|apply Rmin_l]. apply Rmin_glb_lt. lra. apply Rmult_lt_0_compat; [|apply exp_pos]. apply pow_lt.
    apply sqrt_lt_R0.
  assert (0 <= s / v) by (apply Rdiv_le_0_compat; lra). lra.
Qed.

Lemma away_at_least ys : length ys = r -> ball ys <> 0 -> kappa * silent ys <= away ys.
Proof.
  intros L B. unfold away, silent. rewrite (wider v s (proj1 noises) (proj2 noises) x ys L).
  apply Rmult_le_compat_r. apply law_not_negative. apply sqrt_lt_R0. lra.
  apply Rle_trans with (1 := Rmin_r _ _). fold r. apply Rmult_le_compat_l.
  - left. apply pow_lt. apply sqrt_lt_R0. assert (0 <= s / v) by (apply Rdiv_le_0_compat; lra). lra.
  - apply exp_rises. apply Ropp_le_contravar. unfold ball in B. destruct (Rle_dec (square ys) (radius * radius)) as [H | H];
    [|congruence].
    unfold Rdiv. apply Rmult_le_compat_r. left. apply Rinv_0_lt_compat. repeat apply Rmult_lt_0_compat; lra.
      apply Rmult_le_compat_r; lra.
Qed.

Lemma length_zero_code : length (zero_code x) = r.
Proof. unfold zero_code. apply map_length. Qed.

(* The inside and the outside of the ball. *)
Lemma in_and_out (A : look_ball) f : In f [with_code; silent; away] -> exists inside outside,
  seen f A = inside + outside /\
  inside = box r (fun ys => (coin_in (whole_look A) ys * ball ys) * f ys) (from (whole_look A)) (to (whole_look A)) /\
  outside = box r (fun ys => (coin_in (whole_look A) ys * (1 - ball ys)) * f ys) (from (whole_look A)) (to (whole_look A)) /\
  integrable r (fun ys => (coin_in (whole_look A) ys * (1 - ball ys)) * f ys) /\ 0 <= inside /\ 0 <= outside.
Proof.
  intro I. set (w := whole_look A). generalize (counted_in w f I) (in_ball A f I). fold w. intros I1 I2.
  assert (I3 : integrable r (fun ys => (coin_in w ys * (1 - ball ys)) * f ys)).
  { apply (integrable_same r (fun ys => 1 * (coin_in w ys * f ys) + -1 * ((coin_in w ys * ball ys) * f ys))). intro; ring.
    apply integrable_combined; assumption. }
  assert (F0 : forall ys, 0 <= f ys).
  { intro ys. assert (S0 : 0 < sqrt (v + s)) by (apply sqrt_lt_R0; lra). assert (S1 : 0 < sqrt v) by (apply sqrt_lt_R0; lra).
    destruct I as [<- | [<- | [<- | []]]]; apply law_not_negative; assumption. }
  exists (box r (fun ys => (coin_in w ys * ball ys) * f ys) (from w) (to w)),
    (box r (fun ys => (coin_in w ys * (1 - ball ys)) * f ys) (from w) (to w)).
  assert (W0 : forall ys, 0 <= coin_in w ys <= 1) by (intro; apply between_in).
  repeat split; try assumption.
  - unfold seen, chance_in. fold w. rewrite <- (Rmult_1_l (box r (fun ys => coin_in w ys * ball ys * f ys) _ _)).
    rewrite <- (Rmult_1_l (box r (fun ys => coin_in w ys * (1 - ball ys) * f ys) _ _)). rewrite <- box_combined by assumption.
    apply box_same. intro; ring.
  - apply box_not_negative; try assumption. apply ordered_in. intro ys. repeat apply Rmult_le_pos; try apply F0; try apply W0.
    apply ball_between.
  - apply box_not_negative; try assumption. apply ordered_in. intro ys. apply Rmult_le_pos; [apply Rmult_le_pos|apply F0].
    apply W0.
    generalize (ball_between ys). lra.
Qed.

Lemma outside_at_most (A : look_ball) c : length c = r -> square c <= a * a -> exceeds c -> In (law c (sqrt (v + s)))
  [with_code; silent; away] ->
  box r (fun ys => (coin_in (whole_look A) ys * (1 - ball ys)) * law c (sqrt (v + s)) ys) (from (whole_look A)) (to (whole_look
    A)) <= tau.
Proof.
  intros L C H I. destruct (in_and_out A _ I) as (i & o & _ & _ & _ & Io & _). apply H; try assumption.
  - intro ys. apply product_between. apply between_in. generalize (ball_between ys). lra.
  - apply ordered_in.
  - intros ys Ly Near. unfold ball. destruct (Rle_dec (square ys) (radius * radius)) as [B | B]. ring. exfalso. apply B.
    unfold radius. apply (far_from ys c a (sqrt ((v + s) * Q))); try lra. congruence. apply sqrt_pos.
    rewrite sqrt_sqrt. exact Near. apply Rmult_le_pos; lra.
Qed.

Theorem FDP_T1_hidden_star_star :
  within lambda (mixed p (seen with_code) (seen away)) (mixed p (seen silent) (seen away)) (p * (delta (a / sqrt (v + s)) eps +
    tau)) /\
  within lambda (mixed p (seen silent) (seen away)) (mixed p (seen with_code) (seen away)) (p * (delta (a / sqrt (v + s)) eps +
    tau)).
Proof.
  assert (S0 : 0 < sqrt (v + s)) by (apply sqrt_lt_R0; lra). assert (M0 : 0 < a / sqrt (v + s)) by (apply Rdiv_lt_0_compat; lra).
  generalize kappa_range. intro K. assert (E1 : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra).
  set (k := (1 - p) * kappa / p). assert (K0 : 0 <= k) by (unfold k; apply Rdiv_le_0_compat; [apply Rmult_le_pos|]; lra).
  set (m := lambda - 1). assert (PK : 0 < p + (1 - p) * kappa) by (assert (0 <= (1 - p) * kappa) by (apply Rmult_le_pos; lra);
    lra).
  assert (Me : m * (1 + k) = exp eps - 1) by (unfold m, lambda, k; field; split; lra).
  assert (Mm : 0 <= m) by (unfold m, lambda; assert (0 <= p * (exp eps - 1) / (p + (1 - p) * kappa)) by (apply Rdiv_le_0_compat;
    [apply Rmult_le_pos|]; lra); lra).
  assert (Pk : p * k = (1 - p) * kappa) by (unfold k; field; lra).
  generalize (delta_not_negative (a / sqrt (v + s)) eps M0). intro D0.
  assert (Both : forall A : look_ball, exists X X' Y Y' Z Z', seen with_code A = X + X' /\ seen silent A = Y + Y' /\ seen away A
    = Z + Z' /\
    0 <= X /\ 0 <= X' <= tau /\ 0 <= Y /\ 0 <= Y' <= tau /\ 0 <= Z /\ 0 <= Z' /\ kappa * Y <= Z /\
    X - exp eps * Y <= delta (a / sqrt (v + s)) eps /\ Y - exp eps * X <= delta (a / sqrt (v + s)) eps).
  { intro A. destruct (in_and_out A with_code ltac:(simpl; auto)) as (X & X' & Ex & DX & DX' & _ & X0 & X0').
    destruct (in_and_out A silent ltac:(simpl; auto)) as (Y & Y' & Ey & DY & DY' & _ & Y0 & Y0').
    destruct (in_and_out A away ltac:(simpl; auto)) as (Z & Z' & Ez & DZ & DZ' & _ & Z0 & Z0').
    exists X, X', Y, Y', Z, Z'. repeat split; try assumption.
    - rewrite DX'. apply (outside_at_most A x); [reflexivity | apply code_norm | apply quantile | simpl; auto].
    - rewrite DY'. apply (outside_at_most A (zero_code x)); [apply length_zero_code | rewrite square_of_zeros;
      nra | apply quantile | simpl; auto].
    - assert (T : 0 <= box r (fun ys => 1 * (coin_in (whole_look A) ys * ball ys * away ys) + - kappa * (coin_in (whole_look A)
      ys * ball ys * silent ys))
        (from (whole_look A)) (to (whole_look A))).
      { apply box_not_negative_at. apply ordered_in.
        - intros ys Ly. generalize (between_in (whole_look A) ys) (ball_between ys). intros W1 W2.
          replace (_ + _) with (coin_in (whole_look A) ys * (ball ys * (away ys - kappa * silent ys))) by ring.
            apply Rmult_le_pos. lra.
          destruct (Req_dec (ball ys) 0) as [-> | N]. lra. apply Rmult_le_pos. lra. generalize (away_at_least ys Ly N). lra.
        - apply integrable_combined; apply in_ball; simpl; auto. }
      rewrite box_combined in T by (apply in_ball; simpl; auto). rewrite <- DZ, <- DY in T. lra.
    - destruct (both_orders (zero_code x) x (sqrt (v + s)) (a / sqrt (v + s)) eps S0) as [B _]; try assumption;
      try rewrite moved_from_zero in B.
      apply length_zero_code. replace (a / sqrt (v + s) * sqrt (v + s) * (a / sqrt (v + s) * sqrt (v + s))) with (a * a) by
        (field; lra). apply code_norm.
      rewrite DX, DY. unfold with_code, silent.
      apply B; [|apply ordered_in]. split. { intro ys. apply product_between. apply between_in. apply ball_between. }
      split; apply in_ball; simpl; auto.
    - destruct (both_orders (zero_code x) x (sqrt (v + s)) (a / sqrt (v + s)) eps S0) as [_ B]; try assumption;
      try rewrite moved_from_zero in B.
      apply length_zero_code. replace (a / sqrt (v + s) * sqrt (v + s) * (a / sqrt (v + s) * sqrt (v + s))) with (a * a) by
        (field; lra). apply code_norm.
      rewrite DX, DY. unfold with_code, silent.
      apply B; [|apply ordered_in]. split. { intro ys. apply product_between. apply between_in. apply ball_between. }
      split; apply in_ball; simpl; auto. }
  assert (La : lambda = 1 + m) by (unfold m; ring). rewrite La. clearbody m k.
  split; intro A; unfold mixed; destruct (Both A) as (X & X' & Y & Y' & Z & Z' & -> & -> & -> & X0 & X1 & Y0 & Y1 & Z0 & Z1 & KY
    & B1 & B2).
  - (* p (X - e^eps Y) inside, p X' outside *)
    assert (I1 : m * ((1 - p) * Z) >= m * (p * k * Y)).
    { rewrite Pk. apply Rle_ge, Rmult_le_compat_l. exact Mm. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
    assert (I2 : 0 <= m * ((1 - p) * Z')) by (repeat apply Rmult_le_pos; lra).
    assert (I3 : 0 <= (1 + m) * (p * Y')) by (repeat apply Rmult_le_pos; lra).
    assert (I4 : p * (X - exp eps * Y) <= p * delta (a / sqrt (v + s)) eps) by (apply Rmult_le_compat_l; lra).
    assert (I5 : p * X' <= p * tau) by (apply Rmult_le_compat_l; lra).
    replace (exp eps) with (1 + m * (1 + k)) in I4 by lra. nra.
  - assert (I1 : m * ((1 - p) * Z) >= m * (p * k * Y)).
    { rewrite Pk. apply Rle_ge, Rmult_le_compat_l. exact Mm. rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
    assert (I2 : 0 <= m * ((1 - p) * Z')) by (repeat apply Rmult_le_pos; lra).
    assert (I3 : 0 <= (1 + m) * (p * X')) by (repeat apply Rmult_le_pos; lra).
    assert (I5 : p * Y' <= p * tau) by (apply Rmult_le_compat_l; lra).
    (* inside: p ((1 - m k) Y - (1 + m) X) *)
    assert (I6 : (1 - m * k) * Y - (1 + m) * X <= delta (a / sqrt (v + s)) eps).
    { assert (Mk : 0 <= m * k) by (apply Rmult_le_pos; assumption). destruct (Rle_dec (1 - m * k) 0) as [N | N].
      - assert ((1 - m * k) * Y <= 0) by nra. assert (0 <= (1 + m) * X) by (apply Rmult_le_pos; lra). lra.
      - replace (exp eps) with (1 + m * (1 + k)) in B2 by lra.
        assert (J : (1 - m * k) * (Y - (1 + m * (1 + k)) * X) <= (1 - m * k) * delta (a / sqrt (v + s)) eps) by (apply
          Rmult_le_compat_l; lra).
        assert (J1 : (1 - m * k) * (1 + m * (1 + k)) * X <= (1 + m) * X).
        { apply Rmult_le_compat_r. exact X0. assert (0 <= m * m * (k * (1 + k))) by (repeat apply Rmult_le_pos; lra). lra. }
        assert (0 <= m * k * delta (a / sqrt (v + s)) eps) by (apply Rmult_le_pos; assumption). lra. }
    assert (I7 : p * ((1 - m * k) * Y - (1 + m) * X) <= p * delta (a / sqrt (v + s)) eps) by (apply Rmult_le_compat_l; lra). nra.
Qed.
End Weak.

(** Pinsker's inequality for tests, from Hoeffding's lemma for one coin. *)
Lemma rises_from_0 (f df : R -> R) : (forall t, is_derive f t (df t)) -> (forall t, 0 <= t -> 0 <= df t) -> forall t,
  0 <= t -> f 0 <= f t.
Proof.
  intros D P t T. destruct (MVT_gen f 0 t df) as [y [Y E]].
  - intros; apply D.
  - intros x _. apply continuity_pt_filterlim. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). eexists.
    apply D.
  - rewrite Rmin_left, Rmax_right in Y by exact T. assert (0 <= df y * (t - 0)) by (apply Rmult_le_pos; [apply P|]; lra). lra.
Qed.

Lemma coin_moments c t : 0 <= c <= 1 -> 0 <= t -> ln (1 + c * (exp t - 1)) <= t * c + t * t / 8.
Proof.
  intros C T. assert (Z : forall t, 0 < 1 + c * (exp t - 1)).
  { intro u. generalize (exp_pos u). intro. assert (0 <= c * exp u) by nra. destruct (Req_dec c 1) as [-> | N]; nra. }
  set (u := fun t => c * exp t / (1 + c * (exp t - 1))).
  assert (D1 : forall t, is_derive (fun t => t * c + t * t / 8 - ln (1 + c * (exp t - 1))) t (c + t / 4 - u t)).
  { intro y. unfold u. auto_derive. generalize (Z y); lra. generalize (Z y). intro. field. lra. }
  assert (D2 : forall t, is_derive (fun t => c + t / 4 - u t) t (1 / 4 - u t * (1 - u t))).
  { intro y. unfold u. auto_derive. generalize (Z y); lra. generalize (Z y). intro. field. lra. }
  assert (P2 : forall t, 0 <= t -> 0 <= c + t / 4 - u t).
  { intros y Y. apply Rle_trans with (c + 0 / 4 - u 0).
    - unfold u. rewrite exp_0. replace (1 + c * (1 - 1)) with 1 by ring. right. field.
    - apply (rises_from_0 (fun t => c + t / 4 - u t) (fun t => 1 / 4 - u t * (1 - u t)) D2); [|exact Y]. intros z _.
      assert (0 <= (u z - 1 / 2) * (u z - 1 / 2)) by apply Rle_0_sqr. lra. }
  generalize (rises_from_0 _ _ D1 P2 t T). cbv beta. rewrite exp_0. replace (1 + c * (1 - 1)) with 1 by ring. rewrite ln_1. lra.
Qed.

Section Short.
Variables (r : nat) (F : ((nat -> R) -> R) -> Prop) (E1 E0 : ((nat -> R) -> R) -> R) (x : nat -> R) (v s : R).
Hypothesis class : functions F.
Hypothesis first : expectation F E1.
Hypothesis second : expectation F E0.
Hypothesis noises : 0 < v /\ 0 <= s.

(* E1 is the expectation under N(x, (v + s) I) in r dimensions, and E0 that under N(0, v I). Of them the means and mean squares
   of the coordinates are used, and the ratio of the densities, of which log_ratio is the logarithm. *)
Hypothesis coordinates : forall i, (i < r)%nat -> F (fun y => y i) /\ F (fun y => y i * y i) /\ E1 (fun y => y i) = x i /\
  E1 (fun y => y i * y i) = x i * x i + (v + s).
Definition log_ratio (y : nat -> R) : R := total r (fun i => ln (normal (x i) (sqrt (v + s)) (y i) / normal 0 (sqrt v) (y i))).
Hypothesis densities : forall g, F g -> (forall y, 0 <= g y) -> (exists b, forall y, g y <= b) ->
  F (fun y => g y * exp (- log_ratio y)) /\ E1 (fun y => g y * exp (- log_ratio y)) = E0 g.

Let K := / 2 * (INR r * (s / v - ln (1 + s / v)) + total r (fun i => x i * x i) / v).

Lemma ratio_of_normals a y : ln (normal a (sqrt (v + s)) y / normal 0 (sqrt v) y)
  = y * y / (2 * v) - (y - a) * (y - a) / (2 * (v + s)) - / 2 * ln (1 + s / v).
Proof.
  assert (R0 : 0 < sqrt v) by (apply sqrt_lt_R0; lra). assert (R1 : 0 < sqrt (v + s)) by (apply sqrt_lt_R0; lra).
  assert (Q0 : sqrt v * sqrt v = v) by (apply sqrt_sqrt; lra). assert (Q1 : sqrt (v + s) * sqrt (v + s) = v + s) by (apply
    sqrt_sqrt; lra).
  assert (P : 0 < 1 + s / v) by (assert (0 <= s / v) by (apply Rdiv_le_0_compat; lra); lra).
  assert (Q : sqrt (1 + s / v) * sqrt v = sqrt (v + s)) by (rewrite <- sqrt_mult; [f_equal; field; lra | lra | lra]).
  assert (Lq : ln (sqrt (1 + s / v)) = / 2 * ln (1 + s / v)).
  { assert (W : 0 < sqrt (1 + s / v)) by (apply sqrt_lt_R0; exact P).
    assert (2 * ln (sqrt (1 + s / v)) = ln (1 + s / v)).
    { rewrite <- (sqrt_sqrt (1 + s / v)) at 2 by lra. rewrite ln_mult by exact W. ring. } lra. }
  assert (W : 0 < sqrt (1 + s / v)) by (apply sqrt_lt_R0; exact P).
  set (X := y * y / (2 * v) - (y - a) * (y - a) / (2 * (v + s))). rewrite <- Lq.
  transitivity (ln (exp X * / sqrt (1 + s / v))).
  2: { rewrite ln_mult by (apply exp_pos || (apply Rinv_0_lt_compat; exact W)). rewrite ln_Rinv, ln_exp by exact W. ring. }
  f_equal. unfold X. clear X. set (W0 := sqrt (1 + s / v)) in *. set (S0 := sqrt v) in *. set (S1 := sqrt (v + s)) in *.
  unfold normal, n. rewrite Rminus_0_r.
  replace ((y - a) / S1 * ((y - a) / S1) / 2) with ((y - a) * (y - a) / (2 * (v + s))) by (rewrite <- Q1; field; lra).
  replace (y / S0 * (y / S0) / 2) with (y * y / (2 * v)) by (rewrite <- Q0; field; lra).
  replace (y * y / (2 * v) - (y - a) * (y - a) / (2 * (v + s))) with (y * y / (2 * v) + - ((y - a) * (y - a) / (2 * (v + s))))
    by ring. rewrite exp_plus. rewrite (exp_Ropp (y * y / (2 * v))). rewrite <- Q.
    generalize root_positive (exp_pos (y * y / (2 * v))). intros.
  field. repeat split; lra.
Qed.

Lemma class_sum k (f : nat -> (nat -> R) -> R) : (forall i, (i < k)%nat -> F (f i)) ->
  F (fun y => total k (fun i => f i y)) /\ E1 (fun y => total k (fun i => f i y)) = total k (fun i => E1 (f i)).
Proof.
  induction k as [|k IH]; intro H; simpl.
  - split. apply (constants _ class). replace (fun _ : nat -> R => 0) with (fun _ : nat -> R => 0 * 1 + 0 * 1)
      by (apply FunctionalExtensionality.functional_extensionality; intro; ring).
    rewrite (linear _ _ first 0 0 (fun _ => 1) (fun _ => 1)) by apply (constants _ class). ring.
  - destruct IH as [A B]. intros; apply H; lia.
    replace (fun y => total k (fun i => f i y) + f k y) with (fun y => 1 * total k (fun i => f i y) + 1 * f k y)
      by (apply FunctionalExtensionality.functional_extensionality; intro; ring).
    split. apply (combined _ class); auto. rewrite (linear _ _ first) by auto. rewrite B. ring.
Qed.

(* The relative entropy. *)
Lemma mean_log_ratio : F log_ratio /\ E1 log_ratio = K.
Proof.
  set (term := fun i (y : nat -> R) => (/ (2 * v) - / (2 * (v + s))) * (y i * y i) + 1 * (x i / (v + s) * y i + (- (x i * x i /
    (2 * (v + s))) - / 2 * ln (1 + s / v)) * 1)).
  assert (Eq : log_ratio = fun y => total r (fun i => term i y)).
  { apply FunctionalExtensionality.functional_extensionality. intro y. unfold log_ratio. apply total_ext. intros i _.
    rewrite ratio_of_normals. unfold term. field. lra. }
  assert (Ft : forall i, (i < r)%nat -> F (term i) /\
    E1 (term i) = (/ (2 * v) - / (2 * (v + s))) * (x i * x i + (v + s)) + (x i / (v + s) * x i + (- (x i * x i / (2 * (v + s)))
      - / 2 * ln (1 + s / v)))).
  { intros i I. destruct (coordinates i I) as (C1 & C2 & C3 & C4).
    assert (L1 : F (fun y => x i / (v + s) * y i + (- (x i * x i / (2 * (v + s))) - / 2 * ln (1 + s / v)) * 1))
      by (apply (combined _ class _ _ (fun y => y i) (fun _ => 1)); [exact C1 | apply (constants _ class)]).
    split. unfold term. apply (combined _ class _ _ (fun y => y i * y i)); assumption.
    unfold term. rewrite (linear _ _ first _ _ (fun y => y i * y i)) by assumption.
    rewrite (linear _ _ first _ _ (fun y => y i) (fun _ => 1)) by (exact C1 || apply (constants _ class)).
    rewrite C3, C4, (Divergence.one _ _ first). ring. }
  destruct (class_sum r term (fun i I => proj1 (Ft i I))) as [A B]. rewrite Eq. split. exact A. rewrite B.
  rewrite (total_ext r _ (fun i => / (2 * v) * (x i * x i) + / 2 * ((s / v - ln (1 + s / v)) * 1))).
  - rewrite total_combined, total_times. replace (total r (fun _ => 1)) with (INR r).
    + unfold K. field. lra.
    + clear. induction r as [|k IH]. reflexivity. rewrite S_INR, IH. reflexivity.
  - intros i I. rewrite (proj2 (Ft i I)). field. lra.
Qed.

Lemma K_not_negative : 0 <= K.
Proof.
  unfold K. assert (Q : 0 <= s / v) by (apply Rdiv_le_0_compat; lra).
  assert (L : ln (1 + s / v) <= s / v).
  { rewrite <- (ln_exp (s / v)) at 2. apply ln_rises. lra. generalize (exp_ineq1_le (s / v)). lra. }
  assert (0 <= total r (fun i => x i * x i)) by (apply total_positive; intros; nra).
  assert (0 <= total r (fun i => x i * x i) / v) by (apply Rdiv_le_0_compat; lra).
  assert (0 <= INR r * (s / v - ln (1 + s / v))) by (apply Rmult_le_pos; [apply pos_INR | lra]). lra.
Qed.

Lemma tests_apart phi t : F phi -> (forall y, 0 <= phi y <= 1) -> 0 < t -> E1 phi - E0 phi <= K / t + t / 8.
Proof.
  intros Fp B T. set (c := E0 phi).
  assert (C : 0 <= c <= 1).
  { unfold c. split.
    - apply Rle_trans with (E0 (fun _ => 0 * 1 + 0 * 1)).
      + rewrite (linear _ _ second 0 0 (fun _ => 1) (fun _ => 1)) by apply (constants _ class). lra.
      + apply (rises _ _ second). apply (combined _ class); apply (constants _ class). exact Fp. intro y. generalize (B y). lra.
    - rewrite <- (Divergence.one _ _ second). apply (rises _ _ second). exact Fp. apply (constants _ class). intro y. apply B. }
  set (Z := 1 + c * (exp t - 1)). assert (Et : 1 < exp t) by (rewrite <- exp_0; apply exp_increasing; exact T).
  assert (Z0 : 0 < Z) by (unfold Z; nra).
  set (g := fun y => 1 * 1 + (exp t - 1) * phi y).
  assert (Fg : F g) by (apply (combined _ class _ _ (fun _ => 1)); [apply (constants _ class) | exact Fp]).
  assert (Eg : E0 g = Z).
  { unfold g. rewrite (linear _ _ second _ _ (fun _ => 1)) by (exact Fp || apply (constants _ class)).
    rewrite (Divergence.one _ _ second). unfold Z, c. ring. }
  destruct (densities g Fg) as [Fl El].
  { intro y. unfold g. generalize (B y). intro. nra. } { exists (exp t). intro y. unfold g. generalize (B y). intro. nra. }
  destruct mean_log_ratio as [Fr Er].
  (* w <= log Z - 1 + e^w / Z at w = t phi - log ratio; e^(t phi) is at most 1 + phi (e^t - 1) *)
  assert (M : E1 (fun y => t * phi y + -1 * log_ratio y) <= E1 (fun y => (ln Z - 1) * 1 + / Z * (g y * exp (- log_ratio y)))).
  { apply (rises _ _ first).
    - apply (combined _ class); assumption.
    - apply (combined _ class _ _ (fun _ => 1)); [apply (constants _ class) | exact Fl].
    - intro y. set (w := t * phi y + -1 * log_ratio y).
      assert (W1 : w <= ln Z - 1 + exp w / Z).
      { generalize (exp_ineq1_le (w - ln Z)). unfold Rminus at 2. rewrite exp_plus, exp_Ropp, exp_ln by exact Z0. unfold Rdiv.
        lra. }
      assert (W2 : exp w <= g y * exp (- log_ratio y)).
      { unfold w. replace (t * phi y + -1 * log_ratio y) with (t * phi y + - log_ratio y) by ring. rewrite exp_plus.
        apply Rmult_le_compat_r. left; apply exp_pos. unfold g. generalize (B y). intro By.
        (* convexity of exp *)
        generalize (exp_ineq1_le (t - t * phi y)) (exp_ineq1_le (- (t * phi y))). intros e1 e2.
        assert (X1 : exp t = exp (t * phi y) * exp (t - t * phi y)) by (rewrite <- exp_plus; f_equal; ring).
        assert (X2 : 1 = exp (t * phi y) * exp (- (t * phi y))) by (rewrite <- exp_plus, Rplus_opp_r, exp_0; reflexivity).
        generalize (exp_pos (t * phi y)). intro X3.
        assert (Y1 : exp (t * phi y) * (1 + (t - t * phi y)) <= exp t) by (rewrite X1; apply Rmult_le_compat_l; lra).
        assert (Y2 : exp (t * phi y) * (1 + - (t * phi y)) <= 1) by (rewrite X2 at 2; apply Rmult_le_compat_l; lra).
        assert (phi y * (exp (t * phi y) * (1 + (t - t * phi y))) <= phi y * exp t) by (apply Rmult_le_compat_l; lra).
        assert ((1 - phi y) * (exp (t * phi y) * (1 + - (t * phi y))) <= (1 - phi y) * 1) by (apply Rmult_le_compat_l; lra).
          nra. }
      assert (exp w / Z <= / Z * (g y * exp (- log_ratio y))).
      { unfold Rdiv. rewrite Rmult_comm. apply Rmult_le_compat_l. left; apply Rinv_0_lt_compat; exact Z0. exact W2. }
      lra. }
  rewrite (linear _ _ first t (-1) phi log_ratio) in M by assumption.
  rewrite (linear _ _ first (ln Z - 1) (/ Z) (fun _ => 1)) in M by (exact Fl || apply (constants _ class)).
  rewrite Er, El, Eg, (Divergence.one _ _ first), Rinv_l in M by lra.
  generalize (coin_moments c t C (Rlt_le _ _ T)). fold Z. intro H.
  apply (Rmult_le_reg_l t). exact T. replace (t * (K / t + t / 8)) with (K + t * t / 8) by (field; lra).
  rewrite Rmult_minus_distr_l. fold c. lra.
Qed.

Lemma pinsker phi : F phi -> (forall y, 0 <= phi y <= 1) -> Rabs (E1 phi - E0 phi) <= sqrt (K / 2).
Proof.
  intros Fp B. assert (One : forall phi, F phi -> (forall y, 0 <= phi y <= 1) -> E1 phi - E0 phi <= sqrt (K / 2)).
  { clear phi Fp B. intros phi Fp B. destruct K_not_negative as [Kp | K0].
    - assert (T : 0 < sqrt (8 * K)) by (apply sqrt_lt_R0; lra). apply Rle_trans with (1 := tests_apart phi (sqrt (8 * K)) Fp B T).
      assert (Q : sqrt (K / 2) = sqrt (8 * K) / 4).
      { replace (K / 2) with (8 * K / (4 * 4)) by field. rewrite sqrt_div by lra. rewrite sqrt_square by lra. reflexivity. }
      rewrite Q. assert (S : sqrt (8 * K) * sqrt (8 * K) = 8 * K) by (apply sqrt_sqrt; lra).
      right. apply (Rmult_eq_reg_r (sqrt (8 * K))); [|lra]. replace ((K / sqrt (8 * K) + sqrt (8 * K) / 8) * sqrt (8 * K))
        with (K + sqrt (8 * K) * sqrt (8 * K) / 8) by (field; lra).
      replace (sqrt (8 * K) / 4 * sqrt (8 * K)) with (sqrt (8 * K) * sqrt (8 * K) / 4) by field. rewrite S. field.
    - rewrite <- K0. unfold Rdiv. rewrite Rmult_0_l, sqrt_0. apply le_epsilon. intros e He.
      generalize (tests_apart phi (8 * e) Fp B ltac:(lra)). rewrite <- K0. unfold Rdiv. rewrite Rmult_0_l. lra. }
  assert (Fc : F (fun y => 1 * 1 + -1 * phi y)) by (apply (combined _ class _ _ (fun _ => 1));
    [apply (constants _ class) | exact Fp]).
  assert (Bc : forall y, 0 <= 1 * 1 + -1 * phi y <= 1) by (intro y; generalize (B y); lra).
  generalize (One phi Fp B) (One _ Fc Bc).
  rewrite (linear _ _ first _ _ (fun _ => 1)), (linear _ _ second _ _ (fun _ => 1)) by (exact Fp || apply (constants _ class)).
  rewrite (Divergence.one _ _ first), (Divergence.one _ _ second). intros. unfold Rabs. destruct (Rcase_abs _); lra.
Qed.

(** absent: the device takes part with probability p; d is the greatest norm of its code. Both orders, for every test of the
   class. *)
Theorem FDP_T1a_short d p lambda phi : total r (fun i => x i * x i) <= d * d -> 0 <= p <= 1 -> 1 <= lambda ->
  F phi -> (forall y, 0 <= phi y <= 1) ->
  let P := p * E1 phi + (1 - p) * E0 phi in
  let bound := p / 2 * sqrt (INR r * (s / v - ln (1 + s / v)) + d * d / v) in
  P - lambda * E0 phi <= bound /\ E0 phi - lambda * P <= bound.
Proof.
  intros D Hp L Fp B P bound. generalize (pinsker phi Fp B). intro H.
  assert (Pos : forall E, expectation F E -> 0 <= E phi).
  { intros E HE. apply Rle_trans with (E (fun _ => 0 * 1 + 0 * 1)).
    - rewrite (linear _ _ HE 0 0 (fun _ => 1) (fun _ => 1)) by apply (constants _ class). lra.
    - apply (rises _ _ HE). apply (combined _ class); apply (constants _ class). exact Fp. intro y. generalize (B y). lra. }
  generalize (Pos E1 first) (Pos E0 second). intros P1 P0.
  assert (Kb : sqrt (K / 2) <= / 2 * sqrt (INR r * (s / v - ln (1 + s / v)) + d * d / v)).
  { generalize K_not_negative. intro K0. replace (/ 2) with (sqrt (/ 4)).
    - rewrite <- sqrt_mult_alt by lra. apply sqrt_le_1_alt. unfold K. assert (total r (fun i => x i * x i) / v <= d * d / v).
      { apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra. }
      lra.
    - replace (/ 4) with (/ 2 * / 2) by field. apply sqrt_square. lra. }
  assert (M : p * Rabs (E1 phi - E0 phi) <= bound).
  { unfold bound. unfold Rdiv at 1. rewrite Rmult_assoc. apply Rmult_le_compat_l. lra. apply Rle_trans with (1 := H). exact Kb. }
  assert (A1 : p * (E1 phi - E0 phi) <= p * Rabs (E1 phi - E0 phi)) by (apply Rmult_le_compat_l; [lra | apply Rle_abs]).
  assert (A2 : p * (E0 phi - E1 phi) <= p * Rabs (E1 phi - E0 phi)).
  { rewrite Rabs_minus_sym. apply Rmult_le_compat_l; [lra | apply Rle_abs]. }
  assert (A3 : 0 <= (lambda - 1) * E0 phi) by (apply Rmult_le_pos; lra).
  assert (A4 : 0 <= (lambda - 1) * P) by (apply Rmult_le_pos; [lra | unfold P; assert (0 <= p * E1 phi) by (apply Rmult_le_pos;
    lra);
    assert (0 <= (1 - p) * E0 phi) by (apply Rmult_le_pos; lra); lra]).
  unfold P in *. split; lra.
Qed.
End Short.

(** Visible participants: the best test is a half-space, and attains the curve in every dimension. *)
Definition step (t x : R) : R := if Rle_dec t x then 1 else 0.

Lemma step_zero t f a b : a <= b -> b <= t -> is_RInt (fun x => step t x * f x) a b 0.
Proof.
  intros O B. apply (is_RInt_ext (fun _ => 0)).
  - rewrite Rmin_left, Rmax_right by exact O. intros x X. unfold step. destruct (Rle_dec t x); [lra | symmetry; apply Rmult_0_l].
  - evar_last. apply (is_RInt_const (V := R_NormedModule)). unfold scal; simpl; unfold mult; simpl. ring.
Qed.

Lemma step_one t (f : R -> R) a b : a <= b -> t <= a -> ex_RInt f a b -> is_RInt (fun x => step t x * f x) a b (RInt f a b).
Proof.
  intros O A I. apply (is_RInt_ext f).
  - rewrite Rmin_left, Rmax_right by exact O. intros x X. unfold step. destruct (Rle_dec t x); [symmetry; apply Rmult_1_l | lra].
  - apply (RInt_correct (V := R_CompleteNormedModule)). exact I.
Qed.

Lemma step_across t (f : R -> R) a b : a <= t <= b -> (forall u v, ex_RInt f u v) -> is_RInt (fun x => step t x * f x) a b (RInt
  f t b).
Proof.
  intros [A B] I. replace (RInt f t b) with (plus 0 (RInt f t b)) by (unfold plus; simpl; ring).
  apply (is_RInt_Chasles (V := R_NormedModule)) with t. apply step_zero; lra. apply step_one; try lra. apply I.
Qed.

Lemma step_integrable t (f : R -> R) : (forall u v, ex_RInt f u v) -> forall a b, ex_RInt (fun x => step t x * f x) a b.
Proof.
  intro I. assert (H : forall a b, a <= b -> ex_RInt (fun x => step t x * f x) a b).
  { intros a b O. destruct (Rle_dec b t) as [B | B]. eexists. apply step_zero; assumption.
    destruct (Rle_dec t a) as [A | A]. eexists. apply step_one; try assumption. apply I. eexists.
      apply step_across; [lra | exact I]. }
  intros a b. destruct (Rle_dec a b). apply H. assumption. apply ex_RInt_swap. apply H. lra.
Qed.

Lemma normal_integral m s A B : 0 < s -> is_RInt (normal m s) A B (RInt n (/ s * A + - m / s) (/ s * B + - m / s)).
Proof.
  intro S. apply (is_RInt_ext (fun x => scal (/ s) (n (/ s * x + - m / s)))).
  - intros x _. unfold normal, scal; simpl; unfold mult; simpl. replace (/ s * x + - m / s) with ((x - m) / s) by (field; lra).
    field. lra.
  - apply (is_RInt_comp_lin (V := R_NormedModule)). apply (RInt_correct (V := R_CompleteNormedModule)). apply n_integrable.
Qed.

Fixpoint masses (a : list R) (s A B : R) : R := match a with [] => 1 | m :: a => RInt (normal m s) A B * masses a s A B end.

Lemma law_box a s : 0 < s -> integrable (length a) (law a s) /\ forall A B, box (length a) (law a s) A B = masses a s A B.
Proof.
  intro S. induction a as [|m a [I V]]; simpl. auto.
  assert (In : forall x, integrable (length a) (fun xs => normal m s x * law a s xs)) by (intro; apply integrable_times; exact I).
  assert (Bx : forall x A B, box (length a) (fun xs => normal m s x * law a s xs) A B = masses a s A B * normal m s x).
  { intros x A B. rewrite box_times by exact I. rewrite V. ring. }
  split; [split; [exact In|]|].
  - intros A B. apply (ex_RInt_ext (fun x => masses a s A B * normal m s x)). intros x _. symmetry. apply Bx.
    apply times_integrable. eexists. apply normal_integral. exact S.
  - intros A B. rewrite (RInt_ext _ (fun x => masses a s A B * normal m s x)) by (intros; apply Bx).
    rewrite scaled by (eexists; apply normal_integral; exact S). ring.
Qed.

Lemma is_lim_times (f g : R -> R) (l k : R) : is_lim f p_infty l -> is_lim g p_infty k -> is_lim (fun B => f B * g B) p_infty (l
  * k).
Proof. intros F G. exact (is_lim_mult f g p_infty l k F G I). Qed.

Lemma masses_limit a s : 0 < s -> is_lim (fun B => masses a s (- B) B) p_infty 1.
Proof.
  intro S. induction a as [|m a IH]; simpl. apply is_lim_const. replace (Finite 1) with (Finite (1 * 1)) by (f_equal; ring).
  apply is_lim_times; [|exact IH].
  apply (is_lim_ext (fun B => RInt n (/ s * - B + - m / s) (/ s * B + - m / s))). intro B. symmetry. apply is_RInt_unique.
    apply normal_integral. exact S.
  apply between_limit. apply Rinv_0_lt_compat. exact S.
Qed.

Definition above_first (t : R) (ys : list R) : R := match ys with [] => 0 | y :: _ => step t y end.

Lemma above_first_law t m a s : 0 < s -> integrable (S (length a)) (fun ys => above_first t ys * law (m :: a) s ys) /\
  forall B, - B <= t <= B -> box (S (length a)) (fun ys => above_first t ys * law (m :: a) s ys) (- B) B
    = masses a s (- B) B * RInt n ((t - m) / s) (/ s * B + - m / s).
Proof.
  intro S. destruct (law_box a s S) as [I V]. simpl.
  assert (In : forall x, integrable (length a) (fun xs => step t x * (normal m s x * law a s xs))) by (intro;
    apply integrable_times; apply integrable_times; exact I).
  assert (Bx : forall x A B, box (length a) (fun xs => step t x * (normal m s x * law a s xs)) A B = masses a s A B * (step t x
    * normal m s x)).
  { intros x A B. rewrite box_times by (apply integrable_times; exact I). rewrite box_times by exact I. rewrite V. ring. }
  assert (N : forall u v, ex_RInt (normal m s) u v) by (intros; eexists; apply normal_integral; exact S).
  split; [split; [exact In|]|].
  - intros A B. apply (ex_RInt_ext (fun x => masses a s A B * (step t x * normal m s x))). intros x _. symmetry. apply Bx.
    apply times_integrable. apply step_integrable. exact N.
  - intros B T. rewrite (RInt_ext _ (fun x => masses a s (- B) B * (step t x * normal m s x))) by (intros; apply Bx).
    rewrite (scaled (fun x => step t x * normal m s x)) by (apply step_integrable; exact N).
    f_equal. rewrite (is_RInt_unique _ _ _ _ (step_across t (normal m s) (- B) B T N)).
    rewrite (is_RInt_unique _ _ _ _ (normal_integral m s t B S)). f_equal. field. lra.
Qed.

Lemma square_difference a b : length a = length b -> square (apart a b) = square a - 2 * inner a b + square b.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b]; simpl; try discriminate. intros _. ring.
  intro H. injection H as H. unfold apart in *. simpl. rewrite (IH b H). ring.
Qed.

Lemma apart_at_most a b A B : length a = length b -> 0 <= A -> 0 <= B -> square a <= A * A -> square b <= B * B -> square (apart
  a b) <= (A + B) * (A + B).
Proof.
  intros L A0 B0 SA SB. rewrite (square_difference a b L). generalize (inner_square a b) (square_not_negative a)
    (square_not_negative b). intros I X Y.
  assert (K : square a * square b <= (A * B) * (A * B)) by (replace ((A * B) * (A * B)) with ((A * A) * (B * B)) by ring;
    apply Rmult_le_compat; assumption).
  assert (0 <= A * B) by (apply Rmult_le_pos; assumption). assert (- inner a b <= A * B) by nra. nra.
Qed.

Lemma is_lim_total k (f : nat -> R -> R) (l : nat -> R) : (forall i, (i < k)%nat -> is_lim (f i) p_infty (l i)) ->
  is_lim (fun B => total k (fun i => f i B)) p_infty (total k l).
Proof. induction k; simpl; intro H. apply is_lim_const. apply is_lim_plus'; auto. Qed.

(** The i-th of n sets of the others has the probability w i, and noise of the variance v i; device k adds s. The server sees
   the set, whether k takes part and y: an event is one of y for each of these. Where k does not take part, neighbours have the
   same law, away i. C is the greatest norm of a code; the neighbour is silent, or has another code. *)
Section Visible.
Variables (sets r : nat) (w v : nat -> R) (s C p eps : R) (replace : bool).
Variables (event_away : nat -> Type) (away : forall i, event_away i -> R) (none : forall i, event_away i).
Hypothesis sets_weights : forall i, (i < sets)%nat -> 0 <= w i.
Hypothesis noises : forall i, 0 < v i + s.
Hypothesis shares : 0 <= p <= 1 /\ 0 <= eps /\ 0 < C.
Hypothesis away_law : forall i, away i (none i) = 0 /\ forall B, 0 <= away i B.

Let sigma (i : nat) := sqrt (v i + s).
Let Delta := if replace then 2 * C else C.
Definition neighbours (a a' : list R) : Prop := length a = S r /\ length a' = S r /\ square a <= C * C /\
  if replace then square a' <= C * C else a' = zero_code a.
Let look_at (a a' : list R) (i : nat) := look_in (S r) [law a (sigma i); law a' (sigma i)].
Let seen (a a' c : list R) (A : forall i, look_at a a' i) (B : forall i, event_away i) : R :=
  total sets (fun i => w i * (p * chance_in (law c (sigma i)) (A i) + (1 - p) * away i (B i))).

Definition gains (z : R) : Prop := exists a a' A B, neighbours a a' /\ either (exp eps) (seen a a' a A B) (seen a a' a' A B) z.

Lemma sigma_above i : 0 < sigma i.
Proof. apply sqrt_lt_R0. apply noises. Qed.

Lemma Delta_positive : 0 < Delta.
Proof. unfold Delta. destruct replace; lra. Qed.

Lemma neighbours_near a a' : neighbours a a' -> square (apart a a') <= Delta * Delta /\ square (apart a' a) <= Delta * Delta.
Proof.
  intros (L & L' & N & H). assert (K : square (apart a a') <= Delta * Delta).
  { unfold Delta. destruct replace.
    - replace (2 * C) with (C + C) by ring. apply apart_at_most; try assumption; try lra. congruence.
    - subst a'. rewrite square_difference by congruence. rewrite square_of_zeros.
      assert (Z : forall l, inner l (zero_code l) = 0) by (unfold zero_code; induction l as [|q l IH]; simpl;
        [reflexivity | rewrite IH; ring]).
      rewrite Z. lra. }
  split. exact K. rewrite square_difference by congruence. rewrite square_difference in K by congruence.
  assert (Y : forall l l', inner l l' = inner l' l) by (induction l as [|q l IH]; intros [|q' l']; simpl; try reflexivity;
    rewrite IH; ring).
  rewrite (Y a' a). lra.
Qed.

Theorem FDP_T1b : is_lub gains (total sets (fun i => w i * (p * delta (Delta / sigma i) eps))).
Proof.
  generalize Delta_positive. intro D0. assert (E1 : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra).
  split.
  - intros z (a & a' & A & B & N & G). destruct (neighbours_near a a' N) as [N1 N2]. destruct N as (L & L' & _).
    assert (One : forall i, chance_in (law a (sigma i)) (A i) - exp eps * chance_in (law a' (sigma i)) (A i) <= delta (Delta /
      sigma i) eps /\
      chance_in (law a' (sigma i)) (A i) - exp eps * chance_in (law a (sigma i)) (A i) <= delta (Delta / sigma i) eps).
    { intro i. generalize (sigma_above i). intro S0. assert (M : 0 < Delta / sigma i) by (apply Rdiv_lt_0_compat; assumption).
      assert (Sq : Delta / sigma i * sigma i * (Delta / sigma i * sigma i) = Delta * Delta) by (field; lra).
      destruct (moved_apart a a' ltac:(congruence)) as [Q1 Q2]. destruct (moved_apart a' a ltac:(congruence)) as [R1 R2].
      generalize (several (sigma i) S0 a' (apart a a') (Delta / sigma i) eps (eq_sym Q2) M ltac:(rewrite Sq; exact N1)).
        rewrite Q1, Q2, L'. intro X.
      generalize (several (sigma i) S0 a (apart a' a) (Delta / sigma i) eps (eq_sym R2) M ltac:(rewrite Sq; exact N2)).
        rewrite R1, R2, L. intro Y.
      assert (W : @within (look_at a a' i) (exp eps) (chance_in (law a (sigma i))) (chance_in (law a' (sigma i))) (delta (Delta
        / sigma i) eps))
        by (apply below_look_in; simpl; auto).
      assert (W' : @within (look_at a a' i) (exp eps) (chance_in (law a' (sigma i))) (chance_in (law a (sigma i))) (delta (Delta
        / sigma i) eps))
        by (apply below_look_in; simpl; auto).
      split; [apply W | apply W']. }
    assert (Add : forall c c', (forall i, chance_in (law c (sigma i)) (A i) - exp eps * chance_in (law c' (sigma i)) (A i) <=
      delta (Delta / sigma i) eps) ->
      seen a a' c A B - exp eps * seen a a' c' A B <= total sets (fun i => w i * (p * delta (Delta / sigma i) eps))).
    { intros c c' H. unfold seen.
      replace (_ - _) with (total sets (fun i => 1 * (w i * (p * chance_in (law c (sigma i)) (A i) + (1 - p) * away i (B i)))
        + - exp eps * (w i * (p * chance_in (law c' (sigma i)) (A i) + (1 - p) * away i (B i))))) by (rewrite total_combined;
          ring).
      apply total_le. intros i I. specialize (H i). destruct (away_law i) as [_ Aw]. specialize (Aw (B i)).
        specialize (sets_weights i I).
      assert (K1 : p * (chance_in (law c (sigma i)) (A i) - exp eps * chance_in (law c' (sigma i)) (A i)) <= p * delta (Delta /
        sigma i) eps)
        by (apply Rmult_le_compat_l; lra).
      assert (K2 : 0 <= (exp eps - 1) * ((1 - p) * away i (B i))) by (apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra]).
      rewrite <- (Rmult_1_l (w i * (p * chance_in (law c (sigma i)) (A i) + (1 - p) * away i (B i)))) at 1.
      replace (1 * _ + _) with (w i * (p * (chance_in (law c (sigma i)) (A i) - exp eps * chance_in (law c' (sigma i)) (A i)) -
        (exp eps - 1) * ((1 - p) * away i (B i)))) by ring.
      apply Rmult_le_compat_l; lra. }
    destruct G as [-> | ->]; [apply (Add a a') | apply (Add a' a)]; intro i; [exact (proj1 (One i)) | exact (proj2 (One i))].
  - intros b Hb. set (eta := if replace then - C else 0). set (zs := repeat 0 r).
    assert (Lz : length zs = r) by apply repeat_length.
    assert (De : C - eta = Delta) by (unfold eta, Delta; destruct replace; ring).
    set (t := fun i => eta + sigma i * (eps / (Delta / sigma i) + Delta / sigma i / 2)).
    assert (C1 : forall i f, In f [law (C :: zs) (sigma i); law (eta :: zs) (sigma i)] ->
      integrable (S r) (fun ys => above_first (t i) ys * f ys)).
    { intros i f F. rewrite <- Lz. destruct F as [<- | [<- | []]]; apply above_first_law; apply sigma_above. }
    assert (Cb : forall i ys, 0 <= above_first (t i) ys <= 1).
    { intros i [|y ys]; simpl. lra. unfold step. destruct (Rle_dec _ _); lra. }
    assert (Zs : square zs = 0) by (unfold zs; clear; induction r; simpl; [reflexivity | rewrite IHn; ring]).
    assert (Zc : zero_code zs = zs) by (unfold zs, zero_code; clear; induction r; simpl; [reflexivity | f_equal; assumption]).
    assert (Nb : neighbours (C :: zs) (eta :: zs)).
    { unfold neighbours. simpl. rewrite Lz, Zs. repeat split; try lra. unfold eta. destruct replace. lra.
      unfold zero_code. simpl. f_equal. symmetry. exact Zc. }
    set (value := fun i B => masses zs (sigma i) (- B) B * (RInt n ((t i - C) / sigma i) (/ sigma i * B + - C / sigma i)
      - exp eps * RInt n ((t i - eta) / sigma i) (/ sigma i * B + - eta / sigma i))).
    assert (Lim : is_lim (fun B => total sets (fun i => w i * (p * value i B))) p_infty (total sets (fun i => w i * (p * delta
      (Delta / sigma i) eps)))).
    { apply is_lim_total. intros i _. generalize (sigma_above i). intro S0.
      apply (is_lim_scal_l _ (w i) p_infty (Finite (p * delta (Delta / sigma i) eps))).
        apply (is_lim_scal_l _ p p_infty (Finite (delta (Delta / sigma i) eps))).
      unfold value. replace (Finite (delta (Delta / sigma i) eps)) with (Finite (1 * delta (Delta / sigma i) eps)) by (f_equal;
        ring).
      apply is_lim_times. apply masses_limit. exact S0.
      assert (T : forall c u, is_lim (fun B => RInt n u (/ sigma i * B + - c / sigma i)) p_infty (tail u)).
      { intros c u. apply (is_lim_comp_lin (fun b => RInt n u b) (/ sigma i) (- c / sigma i) p_infty (tail u)).
        - assert (I0 : 0 < / sigma i) by (apply Rinv_0_lt_compat; exact S0).
          replace (Rbar_plus (Rbar_mult (/ sigma i) p_infty) (- c / sigma i)) with p_infty. apply tail_is_lim.
          simpl. destruct (Rle_dec 0 (/ sigma i)) as [P|P]; [|lra]. destruct (Rle_lt_or_eq_dec 0 (/ sigma i) P);
            [reflexivity | lra].
        - apply Rgt_not_eq. apply Rinv_0_lt_compat. exact S0. }
      unfold delta.
      replace (eps / (Delta / sigma i) - Delta / sigma i / 2) with ((t i - C) / sigma i) by (unfold t; rewrite <- De; field;
        rewrite De; lra).
      replace (eps / (Delta / sigma i) + Delta / sigma i / 2) with ((t i - eta) / sigma i) by (unfold t; field; lra).
      apply is_lim_minus'. apply T. apply (is_lim_scal_l _ (exp eps) p_infty (Finite (tail ((t i - eta) / sigma i)))). apply T. }
    (* all thresholds are inside a great box *)
    assert (Far : exists M, 0 <= M /\ forall i, (i < sets)%nat -> Rabs (t i) <= M).
    { clear. induction sets as [|k [M [M0 H]]]. exists 0. split. lra. intros; lia.
      exists (M + Rabs (t k)). generalize (Rabs_pos (t k)). intro. split. lra. intros i I.
        destruct (Nat.eq_dec i k) as [-> | N]. lra.
      generalize (H i ltac:(lia)). lra. }
    destruct Far as [M [M0 HM]].
    apply (is_lim_le_loc (fun B => total sets (fun i => w i * (p * value i B))) (fun _ => b) p_infty
      (total sets (fun i => w i * (p * delta (Delta / sigma i) eps))) b); [|exact Lim | apply is_lim_const].
    exists M. intros B HB. assert (O : - B <= B) by lra. apply Hb.
    set (A := fun i => {| coin_in := above_first (t i); from := - B; to := B; between_in := Cb i; ordered_in := O;
      counted_in := C1 i |}
      : look_at (C :: zs) (eta :: zs) i).
    exists (C :: zs), (eta :: zs), A, none. split. exact Nb. left. unfold seen.
    replace (_ - _) with (total sets (fun i => 1 * (w i * (p * chance_in (law (C :: zs) (sigma i)) (A i) + (1 - p) * away i
      (none i)))
      + - exp eps * (w i * (p * chance_in (law (eta :: zs) (sigma i)) (A i) + (1 - p) * away i (none i))))) by (rewrite
        total_combined; ring).
    apply total_ext. intros i I. rewrite (proj1 (away_law i)). unfold chance_in. simpl coin_in. simpl from. simpl to.
    assert (T : - B <= t i <= B) by (generalize (HM i I); unfold Rabs; destruct (Rcase_abs (t i)); lra).
    destruct (above_first_law (t i) C zs (sigma i) (sigma_above i)) as [_ V1].
      destruct (above_first_law (t i) eta zs (sigma i) (sigma_above i)) as [_ V2].
    rewrite Lz in V1, V2. rewrite (V1 B T), (V2 B T). unfold value. ring.
Qed.
End Visible.

Lemma delta_at_most_1 m eps : delta m eps <= 1.
Proof.
  unfold delta. generalize (Phi_between (- (eps / m - m / 2))) (tail_not_negative (eps / m + m / 2)) (exp_pos eps).
  rewrite Phi_tail, Ropp_involutive. intros. assert (0 <= exp eps * tail (eps / m + m / 2)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** A quantile of the others' noise: mu i is the noise of the i-th set of them, which has the probability w i, and v is any
   number. *)
Section Quantile.
Variables (sets r : nat) (w mu : nat -> R) (v noise_k receiver gamma C p eps : R).
Hypothesis all_sets : weights sets w.
Hypothesis noises : 0 < gamma * gamma * (v + noise_k) + receiver /\ forall i,
  0 < gamma * gamma * mu i + receiver + gamma * gamma * noise_k.
Hypothesis shares : 0 <= p <= 1 /\ 0 <= eps /\ 0 < C.

Definition few : R := total sets (fun i => if Rlt_dec (mu i) v then w i else 0).  (* Pr(mu < v) *)

Lemma two_parts (e : nat -> R) d : 0 <= d -> (forall i, (i < sets)%nat -> e i <= 1) -> (forall i,
  (i < sets)%nat -> v <= mu i -> e i <= d) ->
  total sets (fun i => w i * (p * e i)) <= p * (d + few).
Proof.
  destruct all_sets as [N One]. intros D E1 Ed. unfold few. rewrite <- (Rmult_1_r d), <- One.
  rewrite <- (Rmult_1_l (total sets (fun i => if Rlt_dec (mu i) v then w i else 0))), <- total_combined, <- total_times.
  apply total_le. intros i I. specialize (N i I). specialize (E1 i I). specialize (Ed i I).
  destruct (Rlt_dec (mu i) v) as [L | L].
  - assert (p * e i <= p * 1) by (apply Rmult_le_compat_l; lra). assert (w i * (p * e i) <= w i * (p * 1)) by (apply
    Rmult_le_compat_l; lra).
    assert (0 <= p * (d * w i)) by (repeat apply Rmult_le_pos; lra). lra.
  - specialize (Ed ltac:(lra)). assert (p * e i <= p * d) by (apply Rmult_le_compat_l; lra).
    assert (w i * (p * e i) <= w i * (p * d)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* absent: the law of y with the code of device k, and its noise, and without both; y has any number of coordinates *)
Variables (F : ((nat -> R) -> R) -> Prop) (present absent : nat -> ((nat -> R) -> R) -> R) (present_v absent_v : ((nat -> R) ->
  R) -> R) (d : R).
Definition is_test (phi : (nat -> R) -> R) : Prop := F phi /\ forall y, 0 <= phi y <= 1.
Definition moved_by (z : nat -> R) (phi : (nat -> R) -> R) : (nat -> R) -> R := fun y => phi (fun j => y j + z j).
Hypothesis class : functions F.
Hypothesis translated : forall z phi, F phi -> F (moved_by z phi).
Hypothesis laws : forall i, expectation F (present i) /\ expectation F (absent i).
(* present_v and absent_v are the normal laws where the others' noise is v; with more of it, y is what has these laws plus
   independent noise *)
Hypothesis more_noise : forall i, (i < sets)%nat -> v <= mu i -> exists extra, expectation F extra /\ forall phi, is_test phi ->
  F (fun z => present_v (moved_by z phi)) /\ F (fun z => absent_v (moved_by z phi)) /\
  present i phi = extra (fun z => present_v (moved_by z phi)) /\ absent i phi = extra (fun z => absent_v (moved_by z phi)).
(* d is at least the divergence of the law of a device that may take part from that without it, in both orders, at v *)
Definition maybe (P Q : ((nat -> R) -> R) -> R) (phi : (nat -> R) -> R) : R := p * P phi + (1 - p) * Q phi.
Hypothesis divergence_v : 0 <= d /\ forall phi, is_test phi ->
  maybe present_v absent_v phi - exp eps * absent_v phi <= d /\ absent_v phi - exp eps * maybe present_v absent_v phi <= d.

Lemma two_other_parts (e : nat -> R) : (forall i, (i < sets)%nat -> e i <= p) -> (forall i, (i < sets)%nat -> v <= mu i -> e i <= d) ->
  total sets (fun i => w i * e i) <= d + p * few.
Proof.
  destruct all_sets as [N One]. intros E1 Ed. unfold few. rewrite <- (Rmult_1_r d), <- One, <- total_combined.
  apply total_le. intros i I. specialize (N i I). specialize (E1 i I). specialize (Ed i I).
  assert (0 <= d * w i) by (apply Rmult_le_pos; [apply divergence_v | exact N]).
  destruct (Rlt_dec (mu i) v) as [L | L].
  - assert (w i * e i <= w i * p) by (apply Rmult_le_compat_l; lra). lra.
  - specialize (Ed ltac:(lra)). assert (w i * e i <= w i * d) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma between_tests E phi : expectation F E -> is_test phi -> 0 <= E phi <= 1.
Proof.
  intros L [Fp B]. split.
  - apply Rle_trans with (E (fun _ => 0 * 1 + 0 * 1)).
    + rewrite (linear _ _ L 0 0 (fun _ => 1) (fun _ => 1)) by apply (constants _ class). lra.
    + apply (rises _ _ L). apply (combined _ class); apply (constants _ class). exact Fp. intro y. generalize (B y). lra.
  - rewrite <- (Divergence.one _ _ L). apply (rises _ _ L). exact Fp. apply (constants _ class). intro y. apply B.
Qed.

(* More noise is post-processing. *)
Lemma falls_with_noise i phi : (i < sets)%nat -> v <= mu i -> is_test phi ->
  maybe (present i) (absent i) phi - exp eps * absent i phi <= d /\ absent i phi - exp eps * maybe (present i) (absent i) phi <= d.
Proof.
  intros I V T. unfold maybe. destruct (more_noise i I V) as [extra [L H]]. destruct (H phi T) as (F1 & F2 & -> & ->).
  assert (Tz : forall z, is_test (moved_by z phi)).
  { intro z. split. apply translated. apply T. intro y. apply T. }
  assert (K : forall f g, F f -> F g -> (forall z, f z <= exp eps * g z + d) -> extra f - exp eps * extra g <= d).
  { intros f g Ff Fg B. enough (extra f <= extra (fun z => exp eps * g z + d * 1)) as X.
    { rewrite (linear _ _ L _ _ g (fun _ => 1)) in X by (exact Fg || apply (constants _ class)).
      rewrite (Divergence.one _ _ L) in X. lra. }
    apply (rises _ _ L). exact Ff. apply (combined _ class _ _ g (fun _ => 1)); [exact Fg | apply (constants _ class)].
    intro z. generalize (B z). lra. }
  rewrite <- (linear _ _ L) by assumption.
  assert (F3 : F (fun z => p * present_v (moved_by z phi) + (1 - p) * absent_v (moved_by z phi)))
    by (apply (combined _ class); assumption).
  split; apply K; try assumption; intro z; destruct (proj2 divergence_v _ (Tz z)) as [U U']; unfold maybe in U, U'; lra.
Qed.

(** silent and replace: all gains of FDP-T1b; absent: tests of y for each set of the others, both orders. *)
Theorem FDP_T1c :
  (forall replace event_away away none, (forall i, away i (none i) = 0 /\ forall B, 0 <= away i B) ->
    forall z, gains sets r w (fun i => gamma * gamma * mu i + receiver) (gamma * gamma * noise_k) C p eps replace event_away
      away z ->
    z <= p * (delta ((if replace then 2 * C else C) / sqrt (gamma * gamma * (v + noise_k) + receiver)) eps + few)) /\
  (forall phi : nat -> (nat -> R) -> R, (forall i, is_test (phi i)) ->
    let P := total sets (fun i => w i * (p * present i (phi i) + (1 - p) * absent i (phi i))) in
    let Q := total sets (fun i => w i * absent i (phi i)) in
    P - exp eps * Q <= d + p * few /\ Q - exp eps * P <= d + p * few).
Proof.
  assert (E1 : 1 <= exp eps) by (generalize (exp_ineq1_le eps); lra). destruct all_sets as [N One]. destruct noises as [V0 Vi].
    split.
  - intros replace event_away away none A z G. set (Delta := if replace then 2 * C else C).
    assert (D0 : 0 < Delta) by (unfold Delta; destruct replace; lra).
    destruct (FDP_T1b sets r w (fun i => gamma * gamma * mu i + receiver) (gamma * gamma * noise_k) C p eps replace event_away
      away none N Vi shares A) as [U _].
    apply Rle_trans with (1 := U z G). fold Delta. apply two_parts.
    + apply delta_not_negative. apply Rdiv_lt_0_compat. exact D0. apply sqrt_lt_R0. exact V0.
    + intros. apply delta_at_most_1.
    + intros i I M. apply delta_rises. apply Rdiv_lt_0_compat. exact D0. apply sqrt_lt_R0. apply Vi.
      apply Rmult_le_compat_l. lra. apply Rinv_le_contravar. apply sqrt_lt_R0. exact V0. apply sqrt_le_1_alt.
      assert (gamma * gamma * v <= gamma * gamma * mu i) by (apply Rmult_le_compat_l; [apply Rle_0_sqr | exact M]). lra.
  - intros phi T P Q.
    assert (B : forall i, 0 <= present i (phi i) <= 1 /\ 0 <= absent i (phi i) <= 1).
    { intro i. destruct (laws i) as [L1 L0]. split; apply between_tests; auto. }
    split.
    + replace (P - exp eps * Q) with (total sets (fun i => w i * (maybe (present i) (absent i) (phi i) - exp eps * absent i (phi i)))).
      * apply two_other_parts; intros i I. destruct (B i) as [B1 B0]. unfold maybe.
        assert (p * present i (phi i) <= p * 1) by (apply Rmult_le_compat_l; lra).
        assert (0 <= (exp eps - 1 + p) * absent i (phi i)) by (apply Rmult_le_pos; lra). lra.
        intro V. apply falls_with_noise; auto.
      * unfold P, Q, maybe. rewrite <- total_times. transitivity (total sets (fun i => 1 * (w i * (p * present i (phi i) + (1 - p) *
          absent i (phi i))) + -1 * (exp eps * (w i * absent i (phi i))))).
        apply total_ext; intros; ring. rewrite total_combined. ring.
    + replace (Q - exp eps * P) with (total sets (fun i => w i * (absent i (phi i) - exp eps * maybe (present i) (absent i) (phi i)))).
      * apply two_other_parts; intros i I. destruct (B i) as [B1 B0]. unfold maybe.
        assert (0 <= (exp eps - 1) * ((1 - p) * absent i (phi i))) by (repeat apply Rmult_le_pos; lra).
        assert (0 <= exp eps * (p * present i (phi i))) by (repeat apply Rmult_le_pos; lra).
        assert (p * absent i (phi i) <= p * 1) by (apply Rmult_le_compat_l; lra). lra.
        intro V. apply falls_with_noise; auto.
      * unfold P, Q, maybe. rewrite <- total_times. transitivity (total sets (fun i => 1 * (w i * absent i (phi i)) + -1 * (exp eps *
          (w i * (p * present i (phi i) + (1 - p) * absent i (phi i)))))).
        apply total_ext; intros; ring. rewrite total_combined. ring.
Qed.
End Quantile.
