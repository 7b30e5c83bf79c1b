(* CorBin-FL: a row about the Gaussian mechanism, on a range on which bisection is no use. *)

From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Airtight Require Import Rows Gaussian Erfc Classical.
Open Scope R_scope.

Theorem CB_X1_gauss epsilon : 1 / 20 <= epsilon <= 77 / 5 ->
  (1 / 100000) <= (((erfc (((sqrt 2) * ((((-1) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))) / (sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2)))) + (((sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2))) * epsilon) / (2 * (1 - (2 / (1 + (exp (2 * (epsilon / 2)))))))))) / 2)) / 2) + (((-1) * (erfc (((sqrt 2) * (((1 - (2 / (1 + (exp (2 * (epsilon / 2)))))) / (sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2)))) + (((sqrt ((1 / 2) + (((-1) * ((Rmax 0 (1 + ((-2) * (1 - (2 / (1 + (exp (2 * (epsilon / 2))))))))) ^ 2)) / 2))) * epsilon) / (2 * (1 - (2 / (1 + (exp (2 * (epsilon / 2)))))))))) / 2)) * (exp epsilon)) / 2)).
Proof.
  intro P. replace (2 * (epsilon / 2)) with epsilon by field.
  destruct (pair_against_gauss epsilon P) as (T0 & K0 & D). cbv zeta in D, K0.
  set (T := 1 - 2 / (1 + exp epsilon)) in *.
  set (k := sqrt (1 / 2 + (-1 * (Rmax 0 (1 + -2 * T)) ^ 2) / 2)) in *.
  rewrite !erfc_tail. set (mu := 2 * T / k) in *.
  replace (-1 * T / k + k * epsilon / (2 * T)) with (epsilon / mu - mu / 2) by (unfold mu; field; lra).
  replace (T / k + k * epsilon / (2 * T)) with (epsilon / mu + mu / 2) by (unfold mu; field; lra).
  unfold delta in D. lra.
Qed.
