import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import { fromPretrained } from "../engine/learned/pretrained-model.ts";
import { DAY, HOUR, START } from "./stage.fixture.ts";
import {
  at,
  buildAction,
  buildAttempt,
  buildView,
  PLAN,
  stepAt,
  UNDELIVERED,
  type ViewOverrides,
  WINDOW_MS,
} from "./step.fixture.ts";

/** The listed plan of a case without any reports. */
const buildListedAction = (given: ViewOverrides = {}) => ({
  ...stepAt(0, given).inserted[0]!,
  ...({ id: "action_1", delivery: "none", firstAttemptAt: null } as const),
});
/** Returns the plan's time. Not a constant, because a step during import would belong to no test. */
const idealMs = () => buildListedAction().idealRetryTime.getTime() - START.getTime();

suite("a plan", () => {
  test("is listed with the amount due, recorded in a decision, and stepped again when it is to be decided", () => {
    const { inserted, updated, decision, events, state } = stepAt(0, {
      invoice: { subscriptionId: "sub_1" },
      transactions: [buildAttempt({ createdAt: START, updatedAt: START })],
      merchant: { leadMs: 49 * 60_000 },
    });
    const [{ idealRetryTime, reasons, ...plan }, ...others] = inserted as [(typeof inserted)[0]];
    assert.deepEqual(plan, {
      ...{ id: "new_1", caseId: "case_1", invoiceId: "inv_1", subscriptionId: "sub_1", customerId: "cus_1" },
      ...{ transactionId: null, paymentMethodType: "card", cardCountry: "DE", currency: "EUR", amountDue: 4900 },
      ...{ type: "RETRY", status: "SCHEDULED", integrationType: "CUSTOM", actionSuggestion: "RETRY" },
      ...{ decidedAt: null, executedAt: null, attemptedAt: null, createdAt: START, updatedAt: START },
    });
    assert.ok(idealRetryTime > at(HOUR) && reasons.length > 0);
    assert.deepEqual([others, updated, events, state.endedAt], [[], [], [], null]);
    assert.deepEqual(state.dueAt, new Date(idealRetryTime.getTime() - 49 * 60_000));
    assert.deepEqual([decision!.actionId, decision!.idealTime, decision!.kind], ["new_1", idealRetryTime, "retry"]);
  });

  test("stays while nothing changes, and is written again when something does", () => {
    const plan = buildListedAction();
    const same = stepAt(HOUR, { actions: [plan] });
    assert.deepEqual([same.inserted, same.updated, same.state.dueAt], [[], [], at(idealMs())]);
    const { inserted, updated } = stepAt(HOUR, { actions: [plan], invoice: { amount: 5000 } });
    assert.deepEqual(inserted, []);
    assert.deepEqual(
      updated.map(({ id, amountDue, createdAt, updatedAt }) => [id, amountDue, createdAt, updatedAt]),
      [["action_1", 5000, START, at(HOUR)]],
    );
  });

  test("of the learned engine stays while the facts do, whatever the model learns", () => {
    const model = { learnedModel: fromPretrained(readPretrainedModel()), version: 1, isTrained: false };
    const learned = { merchant: { engine: "learned" } } as const;
    const { inserted, decision } = stepAt(0, learned, model);
    // As if less had been reported then.
    const plan = { ...buildListedAction(), ...inserted[0]!, id: "action_1", idealRetryTime: at(10 * DAY) };
    const { account, ...last } = decision!;
    const lastDecision = { ...last, ...account, actionId: "action_1", lastReason: account.reasons.at(-1)! };
    const kept = stepAt(HOUR, { ...learned, actions: [plan], lastDecision }, model);
    assert.deepEqual([kept.updated, kept.decision, kept.state.dueAt], [[], null, at(10 * DAY)]);
    const replanned = stepAt(HOUR, { ...learned, actions: [plan], lastDecision, invoice: { amount: 5000 } }, model);
    assert.notDeepEqual(replanned.updated[0]!.idealRetryTime, at(10 * DAY));
  });

  test("states the remaining amount once, when a part is paid", () => {
    const part = "EUR 39.00 of EUR 49.00 is left to pay.";
    const given = { transactions: [buildAttempt({ state: "PAID", amount: 1000 })] };
    const [plan] = stepAt(DAY, given).inserted;
    assert.deepEqual([plan!.amountDue, plan!.reasons.at(-1)], [3900, part]);
    assert.ok(!buildListedAction().reasons.some((reason) => reason.includes("left to pay")));
    const known = { ...plan!, delivery: "none", firstAttemptAt: null } as const;
    assert.deepEqual(stepAt(DAY, { ...given, actions: [known] }).updated, []);
  });

  test("is decided at its time, by an event with the same id", () => {
    const { inserted, updated, events, state, decision } = stepAt(idealMs(), { actions: [buildListedAction()] });
    assert.deepEqual(inserted, []);
    assert.deepEqual(
      updated.map(({ id, status, decidedAt, updatedAt, idealRetryTime }) => [
        ...[id, status, decidedAt, updatedAt],
        idealRetryTime,
      ]),
      [["action_1", "SCHEDULED", at(idealMs()), at(idealMs()), at(idealMs())]],
    );
    assert.deepEqual(state.dueAt, at(idealMs() + 48 * HOUR));
    assert.equal(decision!.actionId, "action_1");
    const [event, ...others] = events;
    assert.deepEqual(others, []);
    const { body, ...rest } = event!;
    assert.deepEqual(rest, {
      ...{ id: "action_1", caseId: "case_1", invoiceId: "inv_1", type: "recovery_action", createdAt: at(idealMs()) },
    });
    const data = {
      ...{ invoiceId: "inv_1", actionSuggestion: "ACTION_SUGGESTION_RETRY" },
      idealRetryTime: at(idealMs()).toISOString(),
    };
    assert.deepEqual(JSON.parse(body), {
      ...{ id: "action_1", type: "recovery_action", created: at(idealMs()).toISOString(), data },
    });
    const flat = stepAt(idealMs(), { actions: [buildListedAction()], merchant: { webhookFlat: true } }).events[0]!;
    assert.deepEqual(JSON.parse(flat.body), { requestId: "action_1", ...data });
  });

  test("requests a retry now when it is decided late", () => {
    const { updated } = stepAt(idealMs() + HOUR, { actions: [buildListedAction()] });
    assert.deepEqual(updated[0]!.idealRetryTime, at(idealMs() + HOUR));
    const early = stepAt(idealMs() - HOUR, { actions: [buildListedAction()], merchant: { leadMs: HOUR } }).updated[0]!;
    assert.deepEqual([early.idealRetryTime, early.decidedAt], [at(idealMs()), at(idealMs() - HOUR)]);
    assert.equal(
      stepAt(idealMs() - HOUR - 1, { actions: [buildListedAction()], merchant: { leadMs: HOUR } }).updated.length,
      0,
    );
  });

  test("waits for an endpoint, and is stepped every hour", () => {
    const without = { actions: [buildListedAction()], merchant: { webhookUrl: null } };
    const { updated, events, state } = stepAt(idealMs(), without);
    assert.deepEqual([updated, events, state.dueAt], [[], [], at(idealMs() + HOUR)]);
    const early = { ...without, merchant: { webhookUrl: null, leadMs: 5 * HOUR } };
    assert.deepEqual(stepAt(idealMs() - 5 * HOUR, early).state.dueAt, at(idealMs()));
  });
});

suite("while a retry is awaited", () => {
  test("nothing is decided until it is settled, or its deadline or the window ends", () => {
    const { inserted, updated, events, decision, state } = stepAt(DAY, { actions: [buildAction()] });
    assert.deepEqual([inserted, updated, events, decision], [[], [], [], null]);
    assert.deepEqual(state.dueAt, at(DAY + 48 * HOUR));
    const late = buildAction({ idealRetryTime: at(WINDOW_MS - DAY) });
    assert.deepEqual(stepAt(WINDOW_MS - DAY, { actions: [late] }).state.dueAt, at(WINDOW_MS));
  });

  test("it is not withdrawn unless it would charge a disputed card", () => {
    const disputed = [buildAttempt({ id: "txn_0", invoiceId: "inv_0", state: "DISPUTED" })];
    const change = { ...UNDELIVERED, id: "action_2", type: "CARD_CHANGE" } as const;
    const actions = [UNDELIVERED, buildAction({ id: "action_3" }), change];
    assert.deepEqual(stepAt(DAY, { actions }).withdrawn, []);
    assert.deepEqual(stepAt(DAY, { actions, disputed }).withdrawn, ["action_1"]);
  });
});

suite("a card change", () => {
  const lost = [buildAttempt({ createdAt: START, updatedAt: START, networkDeclineCode: "41" })];

  test("is requested at once, and listed as decided", () => {
    const { inserted, updated, events, state } = stepAt(0, { transactions: lost });
    assert.deepEqual(
      inserted.map(({ id, type, actionSuggestion, decidedAt }) => [id, type, actionSuggestion, decidedAt]),
      [["new_1", "CARD_CHANGE", "CARD_CHANGE", START]],
    );
    assert.deepEqual(updated, []);
    assert.deepEqual(
      events.map(({ id, type }) => [id, type]),
      [["new_1", "recovery_action"]],
    );
    assert.deepEqual(state.dueAt, at(7 * DAY));
  });

  test("is requested again a day after it was due when it could not be delivered", () => {
    const failed = { status: "DELIVERY_FAILED", delivery: "exhausted" } as const;
    const again = (...actions: Parameters<typeof buildAction>[0][]) =>
      stepAt(2 * HOUR, {
        transactions: lost,
        actions: actions.map((overrides, index) =>
          buildAction({ idealRetryTime: START, ...overrides, id: `action_${index}` }),
        ),
      }).inserted[0]!;
    const change = { type: "CARD_CHANGE", ...failed } as const;
    assert.deepEqual(again(change).idealRetryTime, at(DAY));
    assert.deepEqual(again(change, { ...change, idealRetryTime: at(HOUR) }).idealRetryTime, at(DAY + HOUR));
    assert.deepEqual(again(failed).idealRetryTime, at(2 * HOUR));
  });
});

suite("nothing is requested", () => {
  test("while the merchant's own system handles the invoice", () => {
    const given = {
      sentOnceEvents: { pauseCollection: false },
      transactions: [buildAttempt({ state: "PAID", amount: 490_000 })],
    };
    for (const transactions of [[], given.transactions]) {
      const { events, inserted, decision, state } = stepAt(0, { ...given, transactions, case: { arm: "merchant" } });
      assert.deepEqual([events, inserted, decision, state.dueAt], [[], [], null, at(WINDOW_MS)]);
    }
    const shadow = stepAt(0, { sentOnceEvents: given.sentOnceEvents, case: { arm: "shadow" } });
    assert.deepEqual([shadow.events, shadow.inserted, shadow.state.dueAt], [[], [], at(WINDOW_MS)]);
    assert.deepEqual([shadow.decision!.kind, shadow.decision!.idealTime], ["retry", at(idealMs())]);
  });

  test("when less is left than the merchant's smallest amount", () => {
    const { inserted, updated, decision, state } = stepAt(0, { merchant: { smallestAmount: 4901 }, actions: [PLAN] });
    assert.deepEqual([inserted, updated[0]!.status, decision, state.dueAt], [[], "CANCELED", null, at(WINDOW_MS)]);
    assert.equal(stepAt(0, { merchant: { smallestAmount: 4900 } }).inserted.length, 1);
  });

  test("when the customer revoked the payments: the case ends, and undelivered events are withdrawn", () => {
    const change = { ...UNDELIVERED, type: "CARD_CHANGE" } as const;
    const revoked = [buildAttempt({ networkDeclineCode: "R1" })];
    const { state, withdrawn } = stepAt(DAY, { actions: [change], transactions: revoked });
    assert.deepEqual([state.endReason, withdrawn], ["hopeless", ["action_1"]]);
  });

  test("when the budget is used up: the case ends", () => {
    const { inserted, updated, state, endsNow, decision } = stepAt(HOUR, { case: { budget: 0 }, actions: [PLAN] });
    assert.deepEqual(
      [state.endReason, state.endedAt, state.paidAt, state.dueAt],
      ["budget_used", at(HOUR), null, null],
    );
    assert.deepEqual([inserted, updated[0]!.status, endsNow], [[], "CANCELED", true]);
    assert.deepEqual([decision!.kind, decision!.actionId, decision!.idealTime], ["stop", null, null]);
  });

  test("while a new card is awaited", () => {
    const lost = [buildAttempt({ createdAt: START, updatedAt: START, networkDeclineCode: "41" })];
    const asked = buildAction({ id: "action_0", type: "CARD_CHANGE", idealRetryTime: START, firstAttemptAt: START });
    const { inserted, updated, state, decision } = stepAt(HOUR, { transactions: lost, actions: [asked, PLAN] });
    assert.deepEqual(
      updated.map(({ id, status }) => [id, status]),
      [["action_1", "CANCELED"]],
    );
    assert.deepEqual([inserted, decision!.kind, state.dueAt], [[], "wait", at(7 * DAY)]);
    const expired = { ...asked, status: "EXPIRED" } as const;
    assert.deepEqual(stepAt(8 * DAY, { transactions: lost, actions: [expired] }).state.dueAt, at(WINDOW_MS));
  });
});

test("collection is paused once when there is an endpoint", () => {
  const types = (given: ViewOverrides) => stepAt(0, given).events.map(({ type }) => type);
  assert.deepEqual(types({ sentOnceEvents: { pauseCollection: false } }), ["pause_collection"]);
  assert.deepEqual(types({}), []);
  assert.deepEqual(types({ sentOnceEvents: { pauseCollection: false }, merchant: { webhookUrl: null } }), []);
});

test("a person can end a case with an amount due", () => {
  assert.equal(buildView().isStopped, undefined);
  const { state, events } = stepAt(HOUR, { isStopped: true, actions: [PLAN] });
  assert.deepEqual([state.endReason, state.endedAt], ["stopped_by_hand", at(HOUR)]);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["complete_dunning"],
  );
});
