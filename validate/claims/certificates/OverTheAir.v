(* examples/good.toml: what twelve devices give away over the air, from the noises that they send. *)

From Coq Require Import Reals Lra Psatz List.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc Mass Vector Dimensions Noise.
Import ListNotations.
Open Scope R_scope.

Definition dimension := 8%nat.
Definition devices := 12.
Definition noise_variance := 0.001315522.
Definition weight := 0.051689.
Definition clip := 1.224214.
Definition alignment := 8.718684.
Definition receiver_noise_variance := 0.01.

(** How far a device moves what is received at most, and the standard deviation of the noise in each coordinate. *)
Definition distance := alignment * (weight * clip).
Definition deviation := sqrt (alignment * alignment * (devices * noise_variance) + receiver_noise_variance).
Definition mu := distance / deviation.

Lemma distance_positive : 0 < distance.
Proof. interval. Qed.

Lemma deviation_positive : 0 < deviation.
Proof. interval. Qed.

Lemma mu_positive : 0 < mu.
Proof. interval. Qed.

(* A number between those that an integral and Mills' bound give, of which no digit is written here. *)
Ltac tail_number y :=
  let z := fresh "z" in let Z := fresh "Z" in let E := fresh "E" in let J := fresh "J" in let T := fresh "T" in
  let k := fresh "k" in let K := fresh "K" in
  interval_intro y with (i_prec 90) as Z;
  remember y as z eqn:E in Z;
  integral_intro (RInt (V := R_CompleteNormedModule) (fun s => exp (- (s * (s / 2 + z)))) 0 12) with (i_relwidth 40, i_fuel 1000) as J;
  interval_intro (exp (- (12 * (12 / 2 + z))) / (z + 12)) upper with (i_prec 90) as T;
  destruct (tail_scaled z 12 _ _ ltac:(lra) ltac:(interval) (proj1 J) (Rplus_le_compat _ _ _ _ (proj2 J) T)) as [k [K KE]];
  rewrite <- E; rewrite KE; clear E J T KE.

Ltac curve :=
  unfold delta;
  match goal with |- context [tail ?a - exp _ * tail ?b] => tail_number a; tail_number b end;
  unfold n; first [apply Rminus_le | apply Rminus_gt_0_lt]; interval with (i_prec 90).

(** The least epsilon of the curve at delta = 1e-5 is 2.00: enough at 2, not enough at 1.999. *)
Theorem good : delta mu 2 <= 1e-5 /\ 1e-5 < delta mu 1.999.
Proof. split; curve. Qed.

(** The noise of a coordinate: what the twelve devices send, with these means and the noise of each, and the receiver's. *)
Theorem received codes : INR (length codes) = devices ->
  is_sum (map (fun m => normal m (alignment * sqrt noise_variance)) codes ++ [normal 0 (sqrt receiver_noise_variance)])
         (normal (sum codes) deviation).
Proof.
  intro L. set (s := alignment * sqrt noise_variance). assert (S : 0 < s) by (unfold s; interval).
  generalize (all_normals_add (map (fun m => (m, s)) codes) 0 (sqrt receiver_noise_variance)). rewrite !map_map. simpl. intro H.
  assert (Q : sum (map (fun _ => s * s) codes) = INR (length codes) * (s * s)).
  { clear. induction codes as [|c codes IH]. simpl. ring. simpl length. rewrite S_INR. simpl. rewrite IH. ring. }
  rewrite Q, L, map_id, Rplus_0_r in H.
  replace (devices * (s * s) + sqrt receiver_noise_variance * sqrt receiver_noise_variance)
    with (alignment * alignment * (devices * noise_variance) + receiver_noise_variance) in H.
  - apply H. intros p Hp. apply in_map_iff in Hp. destruct Hp as [m [<- _]]. exact S. interval.
  - rewrite (sqrt_sqrt receiver_noise_variance) by interval.
    replace (s * s) with (alignment * alignment * (sqrt noise_variance * sqrt noise_variance)) by (unfold s; ring).
    rewrite (sqrt_sqrt noise_variance) by interval. ring.
Qed.

(** What a feature x adds to the received vector. *)
Definition sent (x : list R) : list R := map (fun t => alignment * (weight * t)) x.
Definition clipped (x : list R) : Prop := length x = dimension /\ square x <= clip * clip.

Lemma square_times k x : square (map (fun t => k * t) x) = k * k * square x.
Proof. induction x; simpl. ring. rewrite IHx. ring. Qed.

Lemma sent_square x : square (sent x) = alignment * weight * (alignment * weight) * square x.
Proof.
  unfold sent. rewrite <- square_times. f_equal. apply map_ext. intro; ring.
Qed.

Lemma mu_deviation : mu * deviation = distance.
Proof. unfold mu. field. generalize deviation_positive. lra. Qed.

Lemma opposite c : forall v, length c = length v -> moved (moved c v) (map (fun t => -1 * t) v) = c /\ length (moved c v) = length v.
Proof.
  induction c as [|x c IH]; intros [|y v]; simpl; try discriminate. auto. intro H. injection H as H.
  destruct (IH v H) as [E L]. rewrite E, L. split; [f_equal; ring | reflexivity].
Qed.

Lemma both_orders c v s m eps : 0 < s -> length c = length v -> 0 < m -> square v <= m * s * (m * s) ->
  below_in (length v) (law (moved c v) s) (law c s) eps (delta m eps) /\
  below_in (length v) (law c s) (law (moved c v) s) eps (delta m eps).
Proof.
  intros Hs Hl Hm Hv. split. apply several; assumption.
  destruct (opposite c v Hl) as [E L].
  generalize (several s Hs (moved c v) (map (fun t => -1 * t) v) m eps). rewrite E, map_length, square_times. intro H.
  apply H; try assumption. lra.
Qed.

Lemma below_more d f g eps a b : a <= b -> below_in d f g eps a -> below_in d f g eps b.
Proof. intros H B phi X Y T O. apply Rle_trans with (2 := H). apply B; assumption. Qed.

(** A device with any clipped feature, or silent but for its noise; c is what the others' codes contribute, and the server sees who takes
    part. Epsilon = 2 holds in both orders. *)
Theorem silent c x : length c = dimension -> clipped x ->
  below_in dimension (law (moved c (sent x)) deviation) (law c deviation) 2 1e-5 /\
  below_in dimension (law c deviation) (law (moved c (sent x)) deviation) 2 1e-5.
Proof.
  intros Hc [Hl Hx]. assert (L : length (sent x) = dimension) by (unfold sent; rewrite map_length; exact Hl).
  destruct (both_orders c (sent x) deviation mu 2 deviation_positive) as [A B].
  - rewrite L. exact Hc.
  - apply mu_positive.
  - rewrite mu_deviation, sent_square. unfold distance.
    assert (0 <= alignment * weight * (alignment * weight)) by interval.
    replace (alignment * (weight * clip) * (alignment * (weight * clip)))
      with (alignment * weight * (alignment * weight) * (clip * clip)) by ring.
    apply Rmult_le_compat_l; assumption.
  - rewrite L in A, B. destruct good as [G _].
    split; [apply (below_more _ _ _ _ _ _ G A) | apply (below_more _ _ _ _ _ _ G B)].
Qed.

(** Any clipped feature against any other: twice the distance. *)
Theorem replaced c x y eps : length c = dimension -> clipped x -> clipped y ->
  below_in dimension (law (moved c (sent x)) deviation) (law (moved c (sent y)) deviation) eps (delta (2 * mu) eps).
Proof.
  intros Hc [Lx Hx] [Ly Hy].
  set (v := map (fun p => alignment * weight * (fst p - snd p)) (combine x y)).
  assert (M : forall x y c, length x = length y -> length c = length x ->
    moved (moved c (sent y)) (map (fun p => alignment * weight * (fst p - snd p)) (combine x y)) = moved c (sent x)
    /\ length (moved c (sent y)) = length x /\ length (map (fun p => alignment * weight * (fst p - snd p)) (combine x y)) = length x
    /\ square (map (fun p => alignment * weight * (fst p - snd p)) (combine x y)) <= alignment * weight * (alignment * weight) * (2 * square x + 2 * square y)).
  { clear. induction x as [|a x IH]; intros [|b y] [|e c]; simpl; try discriminate.
    - intros _ _. repeat split. lra.
    - intros H1 H2. injection H1 as H1. injection H2 as H2. destruct (IH y c H1 H2) as [E [L1 [L2 S]]].
      unfold sent in *. simpl. rewrite E, L1, L2. repeat split. f_equal. ring.
      assert (0 <= alignment * weight * (alignment * weight)) by interval.
      set (k := alignment * weight) in *.
      assert (k * (a - b) * (k * (a - b)) <= k * k * (2 * (a * a) + 2 * (b * b))).
      { replace (k * (a - b) * (k * (a - b))) with (k * k * ((a - b) * (a - b))) by ring. apply Rmult_le_compat_l. assumption.
        assert (0 <= (a + b) * (a + b)) by apply Rle_0_sqr. lra. }
      lra. }
  destruct (M x y c ltac:(congruence) ltac:(congruence)) as [E [L1 [L2 S]]]. fold v in E, L2, S.
  generalize (several deviation deviation_positive (moved c (sent y)) v (2 * mu) eps). rewrite E, L2, Lx. intro H. apply H.
  - congruence.
  - generalize mu_positive. lra.
  - apply Rle_trans with (1 := S). replace (2 * mu * deviation) with (2 * distance) by (rewrite <- mu_deviation; ring).
    assert (0 <= alignment * weight * (alignment * weight)) by interval.
    unfold distance. replace (2 * (alignment * (weight * clip)) * (2 * (alignment * (weight * clip))))
      with (alignment * weight * (alignment * weight) * (4 * (clip * clip))) by ring.
    apply Rmult_le_compat_l; lra.
Qed.

(** Nothing less is enough, even where the server looks at one coordinate only, along which the feature lies. *)
Theorem system c :
  let there := normal (c + distance) deviation in
  let away := normal c deviation in
  below there away 2 1e-5 /\ below away there 2 1e-5 /\
  ~ below there away 1.999 1e-5 /\ ~ below away there 1.999 1e-5.
Proof.
  destruct good as [G2 G1999].
  destruct (normals c distance deviation 2 1e-5 deviation_positive distance_positive) as [F2 R2].
  destruct (normals c distance deviation 1.999 1e-5 deviation_positive distance_positive) as [F1999 R1999].
  fold mu in *. repeat split.
  - apply F2. exact G2.
  - apply R2. exact G2.
  - intro H. apply F1999 in H. lra.
  - intro H. apply R1999 in H. lra.
Qed.
