import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CSV_FORMAT, parseCsvFormat } from "../domain/csv-format.ts";
import { TRANSACTION_STATES } from "../domain/transaction.ts";
import { groupedFaultText, groupFaults, importFile } from "./import-file.ts";
import { HISTORY_KIND_BY_NAME } from "./record-kinds.ts";

async function* chunks(text: string) {
  yield Buffer.from(text);
}

test("a file in local formats is converted to the API's format when options say how to read it", async () => {
  const attempts = HISTORY_KIND_BY_NAME.transactions.recordKind;
  const text = [
    "ID,Status,Invoice ID,Sum,Currency,When,Card Funding,Card Country,Payment Method Type,Initiator",
    't_1,Paid,in_1,"1.234,50",eur,25.11.2026 08:30,debit,de,SEPA Debit,Customer',
    "t_2,Declined,in_2,1.200,jpy,01.02.2026,,,card,",
    't_3,CANCELLED,in_3,"1,5",KWD,2026-02-01T08:00:00+02:00,CARD_FUNDING_CREDIT,,,',
  ].join("\n");
  const options = { map: "state=Status,amount=Sum,createdAt=When", dates: "dmy", decimals: "comma" };
  const csvFormat = parseCsvFormat(options, attempts.fields, TRANSACTION_STATES);
  const { first, wrong } = await importFile({ name: "x.csv", bytes: chunks(text) }, attempts, csvFormat);
  assert.deepEqual(wrong, []);
  const read = (first as Record<string, string | Date>[]).map(({ createdAt, updatedAt: _, ...rest }) => ({
    at: (createdAt as Date).toISOString(),
    ...rest,
  }));
  assert.deepEqual(read, [
    {
      at: "2026-11-25T08:30:00.000Z",
      id: "t_1",
      state: "PAID",
      invoiceId: "in_1",
      amount: 123450,
      currency: "EUR",
      paymentMethodType: "sepa_debit",
      cardCountry: "DE",
      cardFunding: "DEBIT",
      initiator: "CUSTOMER",
    },
    {
      at: "2026-02-01T00:00:00.000Z",
      id: "t_2",
      state: "FAILED",
      invoiceId: "in_2",
      amount: 1200,
      currency: "JPY",
      paymentMethodType: "card",
    },
    {
      at: "2026-02-01T06:00:00.000Z",
      id: "t_3",
      state: "VOIDED",
      invoiceId: "in_3",
      amount: 1500,
      currency: "KWD",
      cardFunding: "CREDIT",
    },
  ]);
});

test("spaces around a value are ignored, unless they are quoted", async () => {
  const text = ['id , state, "customerId" ,amount,currency,createdAt', 'a, active ," c ",4900, EUR, 2026-01-01'];
  for (const sign of [",", "\t"]) {
    const bytes = chunks(text.join("\n").replaceAll(",", sign));
    const { first, wrong } = await importFile(
      { name: "x.csv", bytes },
      HISTORY_KIND_BY_NAME.subscriptions.recordKind,
      DEFAULT_CSV_FORMAT,
    );
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      first.map(({ id, customerId, currency }) => [id, customerId, currency]),
      [["a", " c ", "EUR"]],
    );
  }
});

test("true and false are read in any spelling, and an unknown card funding is absent", async () => {
  const attempts = HISTORY_KIND_BY_NAME.transactions.recordKind;
  const heading = "id,state,invoiceId,amount,currency,createdAt,networkToken,cardFunding";
  const row = (token: string, funding: string) => `t,PAID,i,4900,EUR,2026-01-01,${token},${funding}`;
  const text = [heading, row("TRUE", "unknown"), row("False", "Debit"), row("yes", "gift")].join("\n");
  const { first, wrong } = await importFile({ name: "x.csv", bytes: chunks(text) }, attempts, DEFAULT_CSV_FORMAT);
  assert.deepEqual(
    first.map((each) => [each.networkToken, (each as Record<string, unknown>).cardFunding]),
    [
      [true, undefined],
      [false, "DEBIT"],
    ],
  );
  assert.deepEqual(
    wrong.flatMap(({ faults }) => faults.map(({ column }) => column)),
    ["cardFunding", "networkToken"],
  );
});

test("every spelling of charge and deferred debit cards is read as CHARGE", async () => {
  const words = ["charge", "Charge Card", "DeferredDebit", "deferred_debit", "DEFERRED DEBIT", "CARD_FUNDING_CHARGE"];
  const rows = words.map((word, n) => `t_${n},PAID,i,4900,EUR,2026-01-01,${word}`);
  const text = ["id,state,invoiceId,amount,currency,createdAt,cardFunding", ...rows].join("\n");
  const attempts = HISTORY_KIND_BY_NAME.transactions.recordKind;
  const { first, wrong } = await importFile({ name: "x.csv", bytes: chunks(text) }, attempts, DEFAULT_CSV_FORMAT);
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    first.map(({ cardFunding }) => cardFunding),
    words.map(() => "CHARGE"),
  );
});

test("an error names the option that maps a missing field or an unknown state", async () => {
  const text = ["id,Status,invoiceId,amount,currency,createdAt", "t,Authorised,i,4900,EUR,2026-01-01"];
  const attempts = HISTORY_KIND_BY_NAME.transactions.recordKind;
  const faultsWith = async (map: string) => {
    const csvFormat = parseCsvFormat({ map }, attempts.fields, TRANSACTION_STATES);
    const { wrong } = await importFile({ name: "x.csv", bytes: chunks(text.join("\n")) }, attempts, csvFormat);
    return groupFaults(wrong).map((fault) => `${fault.column} ${groupedFaultText(fault)}`);
  };
  assert.deepEqual(await faultsWith(""), ["state is required: name its column with --map state=COLUMN"]);
  assert.deepEqual(await faultsWith("state=Status"), [
    "Status must be one of PAID, FAILED, PENDING, VOIDED, REFUNDED, DISPUTED, or an unambiguous synonym, such as Succeeded or Declined; --states AUTHORISED=STATE maps the word to one of them",
  ]);
});

test("a word for a state has the meaning that the options give it, and each other word is reported once", async () => {
  const attempts = HISTORY_KIND_BY_NAME.transactions.recordKind;
  const words = [
    "Authorised",
    "Error",
    "SentForSettle",
    "authorised",
    "sentforsettle",
    "Cancelled",
    "Paid",
    "TRANSACTION_STATE_AUTHORISED",
  ];
  const rows = words.map((word, n) => `t_${n},${word},i_${n},4900,EUR,2026-01-01`);
  const text = ["id,state,invoiceId,amount,currency,createdAt", ...rows].join("\n");
  const importWith = (states: string) => {
    const csvFormat = parseCsvFormat({ states }, attempts.fields, TRANSACTION_STATES);
    return importFile({ name: "x.csv", bytes: chunks(text) }, attempts, csvFormat);
  };
  const partly = await importWith("Authorised=PAID,Error=VOIDED");
  assert.deepEqual(
    groupFaults(partly.wrong).map((fault) => groupedFaultText(fault).replace(/^.*; /, "")),
    ["--states SENTFORSETTLE=STATE maps the word to one of them (2 rows: lines 4, 6)"],
  );
  const { first, wrong } = await importWith("Authorised=PAID,Error=VOIDED,SentForSettle=PENDING");
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    (first as { state: string }[]).map(({ state }) => state),
    ["PAID", "VOIDED", "PENDING", "PAID", "PENDING", "VOIDED", "PAID", "PAID"],
  );
});

test("an error explains that a year has only two digits", async () => {
  const text = ["id,state,customerId,amount,currency,createdAt", "in_1,Paid,c,4900,EUR,11/25/26"].join("\n");
  const { wrong } = await importFile(
    { name: "x.csv", bytes: chunks(text) },
    HISTORY_KIND_BY_NAME.invoices.recordKind,
    DEFAULT_CSV_FORMAT,
  );
  assert.match(wrong[0]!.faults[0]!.says, /^has a two-digit year, .* write four digits/);
});

test("an error names the word for a state even when other fields of the row are invalid", async () => {
  const text = ["id,state,customerId,amount,currency,createdAt", ",Held,c,49.00,EUR,2026-01-01"].join("\n");
  const { wrong } = await importFile(
    { name: "x.csv", bytes: chunks(text) },
    HISTORY_KIND_BY_NAME.invoices.recordKind,
    DEFAULT_CSV_FORMAT,
  );
  const [{ faults }] = wrong as [(typeof wrong)[number]];
  assert.deepEqual(
    faults.map(({ column }) => column),
    ["id", "state", "amount"],
  );
  assert.match(faults[1]!.says, /--states HELD=STATE/);
});

test("a word that means a state only for payments is refused for an invoice", async () => {
  const invoices = HISTORY_KIND_BY_NAME.invoices.recordKind;
  const row = (state: string) => `in_1,${state},c,4900,EUR,2026-01-01`;
  const text = ["id,state,customerId,amount,currency,createdAt", row("Paid"), row("past due"), row("approved")];
  const { first, wrong } = await importFile(
    { name: "x.csv", bytes: chunks(text.join("\n")) },
    invoices,
    DEFAULT_CSV_FORMAT,
  );
  assert.deepEqual([first.map(({ state }) => state), wrong.map(({ line }) => line)], [["PAID"], [3, 4]]);
  assert.match(wrong[1]!.faults[0]!.says, /^must be one of [A-Z_, ]+; --states APPROVED=STATE maps/);
});
