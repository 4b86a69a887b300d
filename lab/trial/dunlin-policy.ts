import { DAY_MS } from "../../src/domain/durations.ts";
import { type Alternatives, compareAlternatives } from "../../src/engine/alternatives.ts";
import {
  applyDecline,
  type CaseTraits,
  caseFeatures,
  caseRows,
  codeChangeFeature,
  codeFeatureIndex,
  featureIndices,
  newPaymentRecord,
  type PaymentRecord,
  standingOf,
} from "../../src/engine/case-features.ts";
import { chooseRetry, type RetryContext } from "../../src/engine/choose-retry.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../../src/engine/explore-first-retry.ts";
import { normalizeCode } from "../../src/engine/infer-posterior.ts";
import {
  type CasePosterior,
  type CustomerPosterior,
  newCasePosterior,
  newCustomerPosterior,
} from "../../src/engine/learned/case-posterior.ts";
import { cycleChances, type LearnedModel } from "../../src/engine/learned/learned-model.ts";
import type { Reason } from "../../src/engine/learned/model-layout.ts";
import { observeFirstCharge, observeOtherInvoice, observeRetry } from "../../src/engine/learned/observe.ts";
import { CYCLE_COUNT } from "../../src/engine/learned/pay-cycles.ts";
import {
  type BankClock,
  hasSettlementPattern,
  IMMEDIATE,
  learnSettlement,
  likeliestSettlement,
  SETTLEMENT_PATTERNS,
} from "../../src/engine/learned/settlement.ts";
import { recordPrediction } from "../../src/engine/learned/shortfall.ts";
import { countCustomer, learnCase, learnFirstCharge, learnRetry } from "../../src/engine/learned/train.ts";
import { offsetMs } from "../../src/engine/local-time.ts";
import { findNextInvoiceTime } from "../../src/engine/next-invoice.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { createOtherCustomers } from "./other-customers.ts";
import { customerLocaleOf, declineGroupOf, findRules, instrumentOf, type OpenCase, type Policy } from "./policy.ts";
import { amountUsd, retryValueOfInvoice } from "./trial-money.ts";

interface TrialCustomer {
  /** By SETTLEMENT_PATTERNS; a card has only one. */
  people: CustomerPosterior[];
  /** With the initial model; empty for cards. */
  atFirst: CustomerPosterior[];
  past: PaymentRecord;
  open: Map<string, CasePosteriors>;
}

interface CasePosteriors {
  endsAt: number;
  isPlanned: boolean;
  all: CasePosterior[];
  atFirst: CasePosterior[];
}

/** After other reasons the service asks for another card, which no world can answer, so policies retry if the rules allow it. */
const FINAL_REASONS: ReadonlySet<Reason> = new Set(["REVOKED", "FRAUD"]);

export interface DunlinOptions {
  /** Changes what exploration samples. */
  exploration?: string;
  named?(name: string): void;
  /** Known pay days in place of the estimate. */
  tell?(bill: Bill): Float64Array | null;
  /** At a case's first failure, as `explain` predicts. */
  promised?(bill: Bill, even: NonNullable<Alternatives["even"]>): void;
  foresaw?(chance: number, approved: boolean): void;
}

/** @param learnedModel  new or pretrained; keeps learning */
export function createDunlinPolicy(
  learnedModel: LearnedModel,
  { exploration = "", named, tell, promised, foresaw }: DunlinOptions = {},
): Policy {
  const customers = new Map<string, TrialCustomer>();
  const untrained = structuredClone(learnedModel);
  const otherCustomers = createOtherCustomers();
  let outcomeCount = 0;

  function customerOf(bill: Bill): TrialCustomer {
    let customer = customers.get(bill.customerId);
    if (!customer) {
      const country = countryOf(bill);
      const bookings = SETTLEMENT_PATTERNS.slice(
        0,
        hasSettlementPattern(methodOf(bill)) ? SETTLEMENT_PATTERNS.length : 1,
      );
      const people = bookings.map(() => newCustomerPosterior(learnedModel, country));
      const atFirst = people.length === 1 ? [] : bookings.map(() => newCustomerPosterior(untrained, country));
      customer = { people, atFirst, past: newPaymentRecord(), open: new Map() };
      customers.set(bill.customerId, customer);
    } else keepUp(customer.people);
    applyKnownPayDays(customer, bill);
    return customer;
  }

  /** As if charges were processed again with newer estimates, as the service does. */
  function keepUp(people: readonly CustomerPosterior[]) {
    const usualCycles = cycleChances(learnedModel, people[0]!.country);
    for (const person of people) {
      let total = 0;
      for (let c = 0; c < CYCLE_COUNT; c++) {
        person.cycles[c]! *= usualCycles[c]! / person.usualCycles[c]!;
        total += person.cycles[c]!;
      }
      for (let c = 0; c < CYCLE_COUNT; c++) person.cycles[c]! /= total;
      person.usualCycles = usualCycles;
    }
  }

  function applyKnownPayDays({ people, atFirst }: TrialCustomer, bill: Bill) {
    const cycles = tell?.(bill);
    if (cycles) for (const person of [...people, ...atFirst]) person.cycles.set(cycles);
  }

  const likeliestBooking = ({ people }: TrialCustomer, bill: Bill) =>
    people.length === 1 ? 0 : likeliestSettlement(learnedModel, methodOf(bill));

  function indexFeatures(features: readonly string[]): Int32Array {
    if (named) features.forEach(named);
    return featureIndices(features);
  }

  function posteriorOf(open: OpenCase, now: number): CasePosterior {
    const { bill } = open;
    const customer = customers.get(bill.customerId)!;
    const booking = likeliestBooking(customer, bill);
    const knownCase = customer.open.get(bill.id);
    if (knownCase) return knownCase.all[booking]!;
    const traits = traitsOf(bill, customer, bill.first);
    const facts = {
      reason: declineGroupOf(bill.first),
      code: traits.declineCode,
      standing: standingOf(customer.past),
      features: indexFeatures(caseFeatures("r", traits)),
      codeFeature: codeFeatureIndex(traits),
      rows: caseRows(traits),
      failedAt: now,
      recent: open.attempts.map(({ charge }) => charge.at.getTime()).filter((at) => at > now - 7 * DAY_MS),
    };
    const createPosteriors = (model: LearnedModel, people: CustomerPosterior[]) =>
      people.map((person, n) => newCasePosterior(model, person, { ...facts, clock: clockOf(bill, n) }));
    const all = createPosteriors(learnedModel, customer.people);
    customer.open.set(bill.id, {
      endsAt: open.endsAt,
      isPlanned: false,
      all,
      atFirst: createPosteriors(untrained, customer.atFirst),
    });
    learnCase(learnedModel, all[booking]!);
    return all[booking]!;
  }

  function observed({ id, customerId }: Bill, at: number, reason: Reason | null, observe: () => void) {
    const { people, atFirst, open } = customers.get(customerId)!;
    for (const [other, { endsAt }] of open) if (endsAt <= at) open.delete(other);
    const otherCustomers = [...open].filter(([other]) => other !== id).map(([, posteriors]) => posteriors);
    const before = (customers: CustomerPosterior[]) =>
      otherCustomers.length === 0 ? [] : customers.map(({ cycles }) => cycles.slice());
    const [cyclesBefore, cyclesBeforeAtFirst] = [before(people), before(atFirst)];
    observe();
    for (const other of otherCustomers) {
      other.all.forEach((posterior, n) => {
        observeOtherInvoice(posterior, at, reason, cyclesBefore[n]!, people[n]!.cycles);
      });
      other.atFirst.forEach((posterior, n) => {
        observeOtherInvoice(posterior, at, reason, cyclesBeforeAtFirst[n]!, atFirst[n]!.cycles);
      });
    }
  }

  return {
    billed(bill) {
      const customer = customerOf(bill);
      const { past, people, atFirst } = customer;
      const reason = bill.first.approved ? null : declineGroupOf(bill.first);
      const features = indexFeatures(caseFeatures("f", traitsOf(bill, customer, bill.first)));
      const booking = likeliestBooking(customer, bill);
      const at = bill.createdAt.getTime();
      const observe = (model: LearnedModel, person: CustomerPosterior, n: number) =>
        observeFirstCharge(model, person, features, clockOf(bill, n), at, reason);
      observed(bill, at, reason, () => {
        atFirst.forEach((person, n) => {
          observe(untrained, person, n);
        });
        people.forEach((person, n) => {
          if (n !== booking) observe(learnedModel, person, n);
        });
        learnFirstCharge(learnedModel, people[booking]!, features, clockOf(bill, booking), at, reason);
      });
      applyKnownPayDays(customer, bill);
      past.firstCharges++;
      otherCustomers.recordCharge(bill.first, bill.customerId);
      if (reason === null) return;
      if (past.declined === 0) countCustomer(learnedModel, people[booking]!);
      past.declined++;
      past.unpaid++;
    },
    next(open, now) {
      const posterior = posteriorOf(open, now);
      if (FINAL_REASONS.has(posterior.reason)) return null;
      const rules = findRules(open);
      const retriesLeft = Math.min(open.retriesLeft, rules.retriesMax);
      const upAt = otherCustomers.retryAllowedAt(open.charges.at(-1)!, now);
      const choose = (from: number) => {
        const retryContext: RetryContext = {
          key: exploration + open.bill.id,
          now,
          windowEndsAt: open.endsAt,
          windowMs: open.endsAt - open.bill.createdAt.getTime(),
          retriesLeft,
          explores: outcomeCount >= EXPLORATION_MIN_OUTCOMES,
          allow: (at) => at >= from && rules.allow(at),
          limits: rules.limits(now, retriesLeft),
          dollars: amountUsd(open.bill),
          retryValue: retryValueOfInvoice(open.bill),
        };
        const chosen = chooseRetry(learnedModel, posterior, retryContext);
        if (promised && chosen && posterior.retryCount === 0)
          promised(open.bill, compareAlternatives(learnedModel, posterior, retryContext, chosen, now).even!);
        return chosen;
      };
      const chosen = (upAt > now && choose(upAt)) || choose(0);
      customers.get(open.bill.customerId)!.open.get(open.bill.id)!.isPlanned = chosen !== null;
      return chosen && { at: chosen.at, chance: chosen.chance };
    },
    waits({ bill, attempts, endsAt }, now) {
      for (const [id, other] of customers.get(bill.customerId)!.open)
        if (id !== bill.id && other.isPlanned && other.endsAt > now) return true;
      const billed = attempts.map(({ bill: { subscriptionId, createdAt } }) => ({ subscriptionId, at: createdAt }));
      const next = findNextInvoiceTime(billed, now);
      return next !== null && next < endsAt;
    },
    reconsidered(open, choice) {
      const upAt = otherCustomers.retryAllowedAt(open.charges.at(-1)!, choice.at);
      return upAt > choice.at && upAt < open.endsAt ? { ...choice, at: upAt } : choice;
    },
    answered(open, choice, charge) {
      outcomeCount++;
      const customer = customers.get(open.bill.customerId)!;
      const { people, past } = customer;
      const posteriors = customer.open.get(open.bill.id)!;
      const { all, atFirst } = posteriors;
      posteriors.isPlanned = false;
      const reason = charge.approved ? null : declineGroupOf(charge);
      const booking = likeliestBooking(customer, open.bill);
      let byStart: number[] = [];
      let chances: number[] = [];
      observed(open.bill, choice.at, reason, () => {
        byStart = atFirst.map((posterior, n) =>
          observeRetry(untrained, customer.atFirst[n]!, posterior, choice.at, reason),
        );
        chances = all.map((posterior, n) =>
          n === booking ? 0 : observeRetry(learnedModel, people[n]!, posterior, choice.at, reason),
        );
        chances[booking] = learnRetry(learnedModel, people[booking]!, all[booking]!, choice.at, reason);
        if (charge.approved) return;
        const codes = [codeOf(open.bill.first), codeOf(charge)] as const;
        const change = codeChangeFeature(...codes);
        if (change !== null) named?.(change);
        for (const posterior of [...atFirst, ...all]) applyDecline(posterior, ...codes);
      });
      recordPrediction(learnedModel, all[booking]!, choice.chance!, choice.at, reason);
      if (atFirst.length > 0)
        learnSettlement(learnedModel, methodOf(open.bill), charge.approved, (n) => [byStart[n]!, chances[n]!]);
      foresaw?.(chances[booking]!, charge.approved);
      otherCustomers.recordCharge(charge, open.bill.customerId);
      applyKnownPayDays(customer, open.bill);
      if (!charge.approved) return;
      past.unpaid--;
      past.recovered++;
      past.lastReason = declineGroupOf(open.bill.first);
      customer.open.delete(open.bill.id);
    },
  };
}

const learnedCodeOf = (charge: Charge, code: string | undefined) =>
  code ? normalizeCode(instrumentOf(charge), code) : null;
const codeOf = (charge: Charge) => learnedCodeOf(charge, charge.networkDeclineCode);
const countryOf = (bill: Bill) => customerLocaleOf(bill).country ?? bill.currency;
const methodOf = (bill: Bill) => bill.first.paymentMethodType;
const clockOf = (bill: Bill, booking: number): BankClock => ({
  offsetMs: offsetMs(customerLocaleOf(bill).zone, bill.createdAt.getTime()),
  booking: hasSettlementPattern(methodOf(bill)) ? booking : IMMEDIATE,
});

function traitsOf(bill: Bill, { past }: TrialCustomer, last: Charge): CaseTraits {
  return {
    dollars: amountUsd(bill),
    tenureDays: (bill.createdAt.getTime() - bill.subscriptionCreatedAt.getTime()) / DAY_MS,
    billingPeriod: bill.billingPeriod,
    billingPeriodUnit: bill.billingPeriodUnit,
    merchant: bill.merchantKey,
    country: countryOf(bill),
    paymentMethodType: last.paymentMethodType,
    network: last.cardBrand ?? null,
    funding: last.cardFunding ?? null,
    issuer: last.cardIssuer ?? null,
    declineCode: codeOf(last),
    adviceCode: learnedCodeOf(last, last.networkAdviceCode),
    past,
  };
}
