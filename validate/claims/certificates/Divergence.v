(* Laws on any class of events, their mixtures and divergences, and expectations over any space. *)

From Coq Require Import Reals Lra Lia Psatz.
From Airtight Require Import Model Sums.
Open Scope R_scope.

Lemma total_combined n a b f g : total n (fun i => a * f i + b * g i) = a * total n f + b * total n g.
Proof. induction n; simpl. ring. rewrite IHn. ring. Qed.

Definition weights (n : nat) (w : nat -> R) : Prop := (forall i, (i < n)%nat -> 0 <= w i) /\ total n w = 1.

(** A law says of each event how likely it is. The class of events may be any: sets of outcomes, or tests that use a coin. *)
Section Events.
Context {event : Type}.
Implicit Types P Q : event -> R.

Definition likely P : Prop := forall A, 0 <= P A <= 1.

(** d is the supremum of P(A) - lambda Q(A) over all events. *)
Definition divergence (lambda : R) P Q (d : R) : Prop := is_lub (fun x => exists A, x = P A - lambda * Q A) d.

(** d is at least that supremum. *)
Definition within (lambda : R) P Q (d : R) : Prop := forall A, P A - lambda * Q A <= d.

Definition mixed (p : R) P Q : event -> R := fun A => p * P A + (1 - p) * Q A.

Lemma divergence_within lambda P Q d e : divergence lambda P Q d -> (within lambda P Q e <-> d <= e).
Proof.
  intros [U L]. split; intro H.
  - apply L. intros x [A ->]. apply H.
  - intro A. apply Rle_trans with d; [|exact H]. apply U. exists A. reflexivity.
Qed.

Lemma within_divergence lambda P Q d : (forall e, within lambda P Q e <-> d <= e) -> divergence lambda P Q d.
Proof.
  intro H. split.
  - intros x [A ->]. apply (proj2 (H d)). lra.
  - intros b B. apply H. intro A. apply B. exists A. reflexivity.
Qed.

Lemma divergence_exists lambda P Q : inhabited event -> likely P -> likely Q -> 0 <= lambda -> exists d, divergence lambda P Q d.
Proof.
  intros [A] HP HQ L. destruct (completeness (fun x => exists A, x = P A - lambda * Q A)) as [d D].
  - exists 1. intros x [B ->]. generalize (HP B) (HQ B). nra.
  - exists (P A - lambda * Q A), A. reflexivity.
  - exists d. exact D.
Qed.

(* The same differences, but for a positive factor. *)
Lemma divergence_scaled c lambda lambda' P Q P' Q' d : 0 < c ->
  (forall A, P' A - lambda' * Q' A = c * (P A - lambda * Q A)) ->
  (divergence lambda P Q d <-> divergence lambda' P' Q' (c * d)).
Proof.
  intros C H. assert (K : forall e, within lambda' P' Q' (c * e) <-> within lambda P Q e).
  { intro e. split; intros W A; specialize (W A); [rewrite H in W; apply (Rmult_le_reg_l c) | rewrite H;
    apply Rmult_le_compat_l]; lra. }
  split; intro D; apply within_divergence; intro e.
  - replace e with (c * (e / c)) at 1 by (field; lra). rewrite K, (divergence_within lambda P Q d (e / c) D).
    split; intro L. replace e with (c * (e / c)) by (field; lra). apply Rmult_le_compat_l; lra.
    apply (Rmult_le_reg_l c); [lra|]. replace (c * (e / c)) with e by (field; lra). exact L.
  - rewrite <- K, (divergence_within lambda' P' Q' (c * d) (c * e) D). split; intro L; nra.
Qed.

(** A mixture against one of its two parts: Lemma 4. *)
Lemma mixture_divergence p lambda P Q d : 0 < p ->
  (divergence lambda P Q d <-> divergence (1 + p * (lambda - 1)) (mixed p P Q) Q (p * d)).
Proof. intro C. apply divergence_scaled. exact C. intro A. unfold mixed. ring. Qed.

(** In the other order it is no greater, if the two parts are as close in the other order. *)
Lemma mixture_reversed p lambda P Q d : 0 <= p <= 1 -> 1 <= lambda -> 0 <= d -> (forall A, 0 <= P A) -> (forall A, 0 <= Q A) ->
  within lambda Q P d -> within (1 + p * (lambda - 1)) Q (mixed p P Q) (p * d).
Proof.
  intros C L D HP HQ W A. unfold mixed. specialize (W A). specialize (HP A). specialize (HQ A).
  (* Q - (1 + p m)(p P + (1 - p) Q) = p (u Q - l P), where u lambda <= l *)
  remember (lambda - 1) as m eqn:E. assert (M : 0 <= m) by lra. replace lambda with (1 + m) in W by lra.
  replace (Q A - (1 + p * m) * (p * P A + (1 - p) * Q A)) with (p * ((1 - m * (1 - p)) * Q A - (1 + p * m) * P A)) by ring.
  apply Rmult_le_compat_l. lra. assert (N : 0 <= m * (1 - p)) by (apply Rmult_le_pos; lra).
  assert (K : 0 <= (1 + p * m) * P A) by (apply Rmult_le_pos; [nra | lra]).
  destruct (Rle_dec (1 - m * (1 - p)) 0) as [U | U].
  - assert ((1 - m * (1 - p)) * Q A <= 0) by nra. lra.
  - assert (F : (1 - m * (1 - p)) * (Q A - (1 + m) * P A) <= (1 - m * (1 - p)) * d) by (apply Rmult_le_compat_l; lra).
    assert (G : (1 - m * (1 - p)) * (1 + m) * P A <= (1 + p * m) * P A).
    { apply Rmult_le_compat_r. lra. assert (0 <= m * (m * (1 - p))) by (apply Rmult_le_pos; lra). lra. }
    assert (0 <= m * (1 - p) * d) by (apply Rmult_le_pos; lra). lra.
Qed.

End Events.

Section Mixtures.
Context {event : Type}.

(** The law of what is seen where the i-th of n laws holds with the probability w i, and of what and i are seen together: there
   an event is one of what is seen for each i. *)
Definition averaged (n : nat) (w : nat -> R) (P : nat -> event -> R) : event -> R := fun A => total n (fun i => w i * P i A).
Definition together (n : nat) (w : nat -> R) (P : nat -> event -> R) : (nat -> event) -> R := fun A => total n (fun i => w i * P
  i (A i)).

Lemma averaged_within n w lambda (P Q : nat -> event -> R) d : (forall i, (i < n)%nat -> 0 <= w i) ->
  (forall i, (i < n)%nat -> within lambda (P i) (Q i) (d i)) ->
  within lambda (averaged n w P) (averaged n w Q) (total n (fun i => w i * d i)).
Proof.
  intros N H A. unfold averaged. rewrite <- total_times.
  replace (_ - _) with (total n (fun i => 1 * (w i * P i A) + -1 * (lambda * (w i * Q i A)))) by (rewrite total_combined; ring).
  apply total_le. intros i I. generalize (N i I) (H i I A). intros. nra.
Qed.

(* For each of finitely many laws an event that comes near to the supremum. *)
Lemma near_all n lambda (P Q : nat -> event -> R) d : inhabited event ->
  (forall i, (i < n)%nat -> divergence lambda (P i) (Q i) (d i)) -> forall e, 0 < e ->
  exists A, forall i, (i < n)%nat -> d i - e < P i (A i) - lambda * Q i (A i).
Proof.
  intros [A0] H e He. induction n as [|n IH].
  - exists (fun _ => A0). intros i I. lia.
  - destruct IH as [A HA]. intros; apply H; lia.
    assert (S : exists B, d n - e < P n B - lambda * Q n B).
    { destruct (Classical_Prop.classic (exists B, d n - e < P n B - lambda * Q n B)) as [S | S]. exact S.
      assert (W : within lambda (P n) (Q n) (d n - e)).
      { intro B. apply Rnot_lt_le. intro L. apply S. exists B. exact L. }
      apply (divergence_within _ _ _ _ _ (H n (Nat.lt_succ_diag_r n))) in W. lra. }
    destruct S as [B HB]. exists (fun i => if Nat.eq_dec i n then B else A i). intros i I.
    destruct (Nat.eq_dec i n) as [-> | N]. exact HB. apply HA. lia.
Qed.

Lemma together_divergence n w lambda (P Q : nat -> event -> R) d : inhabited event -> (forall i, (i < n)%nat -> 0 <= w i) ->
  (forall i, (i < n)%nat -> divergence lambda (P i) (Q i) (d i)) ->
  divergence lambda (together n w P) (together n w Q) (total n (fun i => w i * d i)).
Proof.
  intros I N H. split.
  - intros x [A ->]. unfold together. rewrite <- total_times.
    replace (_ - _) with (total n (fun i => 1 * (w i * P i (A i)) + -1 * (lambda * (w i * Q i (A i))))) by (rewrite
      total_combined; ring).
    apply total_le. intros i L. generalize (N i L) (proj2 (divergence_within _ _ _ _ _ (H i L)) (Rle_refl _) (A i)).
      intros. nra.
  - intros b B. apply Rnot_lt_le. intro L.
    assert (W : 0 <= total n w) by (apply total_positive; exact N).
    set (e := (total n (fun i => w i * d i) - b) / (total n w + 1)).
    assert (E : 0 < e) by (apply Rdiv_lt_0_compat; lra).
    destruct (near_all n lambda P Q d I H e E) as [A HA].
    assert (K : total n (fun i => 1 * (w i * d i) + - e * w i) <= b).
    { apply Rle_trans with (together n w P A - lambda * together n w Q A).
      - unfold together. rewrite <- total_times.
        replace (_ - total n (fun i => lambda * _)) with (total n (fun i => 1 * (w i * P i (A i)) + -1 * (lambda * (w i * Q i (A
          i)))))
          by (rewrite total_combined; ring).
        apply total_le. intros i J. generalize (N i J) (HA i J). intros. nra.
      - apply B. exists A. reflexivity. }
    rewrite total_combined in K.
    assert (e * (total n w + 1) = total n (fun i => w i * d i) - b) by (unfold e; field; lra). nra.
Qed.
End Mixtures.

(** Finitely additive probability on an algebra of sets. *)
Record algebra {W : Type} (ev : (W -> Prop) -> Prop) : Prop := {
  ev_all : ev (fun _ => True);
  ev_not : forall A, ev A -> ev (fun x => ~ A x);
  ev_or : forall A B, ev A -> ev B -> ev (fun x => A x \/ B x);
  ev_same : forall A B, ev A -> (forall x, A x <-> B x) -> ev B }.

Record probability {W : Type} (ev : (W -> Prop) -> Prop) (P : (W -> Prop) -> R) : Prop := {
  events : algebra ev;
  same_event : forall A B, ev A -> (forall x, A x <-> B x) -> P A = P B;
  not_negative : forall A, ev A -> 0 <= P A;
  whole : P (fun _ => True) = 1;
  add : forall A B, ev A -> ev B -> (forall x, A x -> B x -> False) -> P (fun x => A x \/ B x) = P A + P B }.

Section Probability.
Context {W : Type} (ev : (W -> Prop) -> Prop) (P : (W -> Prop) -> R).
Hypothesis law : probability ev P.

Lemma ev_and A B : ev A -> ev B -> ev (fun x => A x /\ B x).
Proof.
  intros HA HB. destruct (events _ _ law) as [_ N O S].
  apply (S (fun x => ~ (~ A x \/ ~ B x))). apply N, O; apply N; assumption.
  intro x. split. intro H. split; apply Classical_Prop.NNPP; intro; apply H; auto. intros [a b] [H | H]; auto.
Qed.

Lemma split_event A B : ev A -> ev B -> P A = P (fun x => A x /\ B x) + P (fun x => A x /\ ~ B x).
Proof.
  intros HA HB. assert (HN : ev (fun x => ~ B x)) by (apply (ev_not _ (events _ _ law)); exact HB).
  rewrite <- (add _ _ law); try (apply ev_and; assumption).
  - apply (same_event _ _ law). exact HA. intro x. destruct (Classical_Prop.classic (B x)); tauto.
  - tauto.
Qed.

Lemma probability_rises A B : ev A -> ev B -> (forall x, A x -> B x) -> P A <= P B.
Proof.
  intros HA HB H. rewrite (split_event B A HB HA). rewrite (same_event _ _ law (fun x => B x /\ A x) A).
  - generalize (not_negative _ _ law _ (ev_and _ _ HB (ev_not _ (events _ _ law) _ HA))). lra.
  - apply ev_and; assumption.
  - intro x. split; [tauto | auto].
Qed.

Lemma complement A : ev A -> P (fun x => ~ A x) = 1 - P A.
Proof.
  intro HA. rewrite <- (whole _ _ law). rewrite (split_event _ A (ev_all _ (events _ _ law)) HA).
  rewrite (same_event _ _ law (fun x => True /\ A x) A), (same_event _ _ law (fun x => True /\ ~ A x) (fun x => ~ A x));
    try tauto. lra.
  - apply ev_and. apply (ev_all _ (events _ _ law)). apply (ev_not _ (events _ _ law)). exact HA.
  - apply ev_and. apply (ev_all _ (events _ _ law)). exact HA.
Qed.

Lemma probability_likely A : ev A -> 0 <= P A <= 1.
Proof.
  intro HA. split. apply (not_negative _ _ law). exact HA.
  generalize (complement A HA) (not_negative _ _ law _ (ev_not _ (events _ _ law) _ HA)). lra.
Qed.

Lemma union_bound A B : ev A -> ev B -> P (fun x => A x \/ B x) <= P A + P B.
Proof.
  intros HA HB. assert (HN : ev (fun x => B x /\ ~ A x)) by (apply ev_and; [|apply (ev_not _ (events _ _ law))]; assumption).
  rewrite (same_event _ _ law _ (fun x => A x \/ (B x /\ ~ A x))).
  - rewrite (add _ _ law); try assumption. 2: tauto.
    generalize (probability_rises _ _ HN HB (fun x H => proj1 H)). lra.
  - apply (ev_or _ (events _ _ law)); assumption.
  - intro x. destruct (Classical_Prop.classic (A x)); tauto.
Qed.
End Probability.

(** Expectations: positive linear functionals on a class of functions; events are the functions of the class with values 0 and
   1. *)
Record functions {T : Type} (F : (T -> R) -> Prop) : Prop := {
  constants : forall c, F (fun _ => c);
  combined : forall a b f g, F f -> F g -> F (fun t => a * f t + b * g t);
  least : forall f g, F f -> F g -> F (fun t => Rmin (f t) (g t));
  above : forall c f, F f -> F (fun t => if Rlt_dec c (f t) then 1 else 0) }.

Record expectation {T : Type} (F : (T -> R) -> Prop) (E : (T -> R) -> R) : Prop := {
  linear : forall a b f g, F f -> F g -> E (fun t => a * f t + b * g t) = a * E f + b * E g;
  rises : forall f g, F f -> F g -> (forall t, f t <= g t) -> E f <= E g;
  one : E (fun _ => 1) = 1 }.

(* Finite laws are an instance, with all functions. *)
Lemma all_functions (T : Type) : functions (fun _ : T -> R => True).
Proof. split; trivial. Qed.

Lemma finite_expectation (T : Type) (n : nat) (w : nat -> R) (x : nat -> T) :
  weights n w -> expectation (fun _ => True) (fun f => total n (fun i => w i * f (x i))).
Proof.
  intros [N S]. split.
  - intros a b f g _ _. rewrite <- total_combined. apply total_ext. intros. cbv beta. ring.
  - intros f g _ _ H. apply total_le. intros i I. apply Rmult_le_compat_l; auto.
  - transitivity (total n w); [|exact S]. apply total_ext. intros. cbv beta. ring.
Qed.

(** Closeness in every event is closeness in every function between 0 and 1. *)
Section Levels.
Context {T : Type} (F : (T -> R) -> Prop) (E E' : (T -> R) -> R).
Hypothesis class : functions F.
Hypothesis first : expectation F E.
Hypothesis second : expectation F E'.

Definition level (h : R) (i : nat) (x : R) : R := if Rlt_dec (INR (S i) * h) x then 1 else 0.

Lemma levels_count h x : 0 < h -> 0 <= x -> forall k, (INR k * h < x -> total k (fun i => level h i x) = INR k) /\
  (x <= INR k * h -> x - h <= h * total k (fun i => level h i x)) /\ h * total k (fun i => level h i x) <= x.
Proof.
  intros H X. induction k as [|k [A [B C]]].
  - simpl. repeat split; intros; lra.
  - simpl total. unfold level at 2 4 6. rewrite S_INR in *. generalize (pos_INR k). intro.
    destruct (Rlt_dec ((INR k + 1) * h) x) as [L | L].
    + rewrite A by nra. repeat split; intros; nra.
    + destruct (Rlt_dec (INR k * h) x) as [M | M].
      * rewrite A by exact M. repeat split; intros; nra.
      * assert (x <= INR k * h) by lra. specialize (B H1). repeat split; intros; lra.
Qed.

Lemma total_class n (f : nat -> T -> R) : (forall i, F (f i)) -> F (fun t => total n (fun i => f i t)).
Proof.
  intro H. induction n; simpl. apply (constants _ class).
  replace (fun t => total n (fun i => f i t) + f n t) with (fun t => 1 * total n (fun i => f i t) + 1 * f n t).
  apply (combined _ class); [exact IHn | apply H].
  apply FunctionalExtensionality.functional_extensionality. intro t. ring.
Qed.

Lemma total_expectation G n (f : nat -> T -> R) : expectation F G -> (forall i, F (f i)) ->
  G (fun t => total n (fun i => f i t)) = total n (fun i => G (f i)).
Proof.
  intros L H. induction n as [|n IH]; simpl.
  - replace (fun _ : T => 0) with (fun _ : T => 0 * 1 + 0 * 1) by (apply FunctionalExtensionality.functional_extensionality;
    intro; ring).
    rewrite (linear _ _ L 0 0 (fun _ => 1) (fun _ => 1)) by apply (constants _ class). ring.
  - replace (fun t => total n (fun i => f i t) + f n t) with (fun t => 1 * total n (fun i => f i t) + 1 * f n t)
      by (apply FunctionalExtensionality.functional_extensionality; intro; ring).
    rewrite (linear _ _ L); [|apply total_class; exact H | apply H]. rewrite IH. ring.
Qed.

Definition close (lambda d : R) : Prop := forall A, F A -> (forall t, A t = 0 \/ A t = 1) -> E A <= lambda * E' A + d.

Lemma close_functions lambda d : 0 <= lambda -> close lambda d ->
  forall g, F g -> (forall t, 0 <= g t <= 1) -> E g <= lambda * E' g + d.
Proof.
  intros L C g G B. apply le_epsilon. intros e He.
  destruct (archimed_cor1 e He) as [k [K P]]. set (h := / INR k) in *.
  assert (Pk : 0 < INR k) by (apply lt_0_INR; exact P). assert (H : 0 < h) by (apply Rinv_0_lt_compat; exact Pk).
  assert (Hk : INR k * h = 1) by (unfold h; field; lra).
  set (s := fun t => total k (fun i => level h i (g t))).
  assert (Lv : forall i, F (fun t => level h i (g t))) by (intro i; apply (above _ class); exact G).
  assert (S : F s) by (apply total_class; exact Lv).
  assert (Near : forall t, h * s t <= g t <= h * s t + h).
  { intro t. destruct (levels_count h (g t) H (proj1 (B t)) k) as [_ [X Y]]. unfold s. split. exact Y.
    generalize (proj2 (B t)). intro. specialize (X ltac:(lra)). lra. }
  assert (U : E g <= h * E s + h).
  { apply Rle_trans with (E (fun t => h * s t + h * 1)).
    - apply (rises _ _ first). exact G. apply (combined _ class); [exact S | apply (constants _ class)]. intro t.
      generalize (Near t). lra.
    - rewrite (linear _ _ first); [|exact S | apply (constants _ class)]. rewrite (one _ _ first). lra. }
  assert (V : h * E' s <= E' g).
  { apply Rle_trans with (E' (fun t => h * s t + 0 * 1)).
    - rewrite (linear _ _ second); [|exact S | apply (constants _ class)]. lra.
    - apply (rises _ _ second). apply (combined _ class); [exact S | apply (constants _ class)]. exact G. intro t.
      generalize (Near t). lra. }
  assert (M : E s <= lambda * E' s + INR k * d).
  { unfold s. rewrite (total_expectation E), (total_expectation E') by assumption.
    rewrite <- total_times. replace (INR k * d) with (total k (fun _ => d)).
    - rewrite <- (Rmult_1_l (total k (fun _ => d))).
      replace (_ + 1 * _) with (total k (fun i => 1 * (lambda * E' (fun t => level h i (g t))) + 1 * d)) by (rewrite
        total_combined; ring).
      apply total_le. intros i _. rewrite !Rmult_1_l. apply C. apply Lv.
      intro t. unfold level. destruct (Rlt_dec _ _); auto.
    - clear. induction k. simpl. ring. rewrite S_INR. simpl total. rewrite IHk. ring. }
  assert (h * E s <= lambda * (h * E' s) + d).
  { replace (lambda * (h * E' s) + d) with (h * (lambda * E' s + INR k * d)) by (replace d with (INR k * h * d) at 2 by (rewrite
    Hk; ring); ring).
    apply Rmult_le_compat_l; lra. }
  assert (lambda * (h * E' s) <= lambda * E' g) by (apply Rmult_le_compat_l; assumption). lra.
Qed.

(** Two steps: what follows a point t is as close as (log mu, e) at each. *)
Lemma two_steps lambda d mu e g g' : 0 <= lambda -> 0 <= mu -> 0 <= e -> close lambda d -> F g -> F g' -> (forall t,
  g t <= 1) -> (forall t, 0 <= g' t) ->
  (forall t, g t <= mu * g' t + e) -> E g <= lambda * mu * E' g' + (d + e).
Proof.
  intros L M E0 C G G' B B' H. set (u := fun t => Rmin 1 (mu * g' t + 0 * 1)).
  assert (U0 : F (fun t => mu * g' t + 0 * 1)) by (apply (combined _ class _ _ _ (fun _ => 1));
    [exact G' | apply (constants _ class)]).
  assert (U : F u) by (apply (least _ class (fun _ => 1)); [apply (constants _ class) | exact U0]).
  assert (Ub : forall t, 0 <= u t <= 1).
  { intro t. unfold u. split; [|apply Rmin_l]. apply Rmin_glb. lra. generalize (Rmult_le_pos _ _ M (B' t)). lra. }
  assert (S1 : E g <= E u + e).
  { apply Rle_trans with (E (fun t => 1 * u t + e * 1)).
    - apply (rises _ _ first). exact G. apply (combined _ class _ _ _ (fun _ => 1)); [exact U | apply (constants _ class)].
      intro t. generalize (B t) (H t). unfold u, Rmin. destruct (Rle_dec _ _); lra.
    - rewrite (linear _ _ first) by (try exact U; apply (constants _ class)). rewrite (one _ _ first). lra. }
  assert (S2 : E u <= lambda * E' u + d) by (apply close_functions; assumption).
  assert (S3 : E' u <= mu * E' g').
  { apply Rle_trans with (E' (fun t => mu * g' t + 0 * 1)).
    - apply (rises _ _ second); try assumption. intro t. apply Rmin_r.
    - rewrite (linear _ _ second _ _ _ (fun _ => 1)) by (try exact G'; apply (constants _ class)). lra. }
  assert (lambda * E' u <= lambda * (mu * E' g')) by (apply Rmult_le_compat_l; assumption). lra.
Qed.
End Levels.
