import type { Permission } from "../../domain/permission.ts";
import { ApiError } from "../../http/errors.ts";
import { INVOICE_KIND } from "../../ingest/invoice-record.ts";
import { parseBatch, type RecordKind } from "../../ingest/parse-batch.ts";
import { SUBSCRIPTION_KIND } from "../../ingest/subscription-record.ts";
import { TRANSACTION_KIND } from "../../ingest/transaction-record.ts";
import { type MessagesByExample, refusalResponses } from "./error-responses.ts";
import type { DocumentPart } from "./field-schema.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs } from "./response-headers.ts";

interface IngestOperation {
  kind: RecordKind<unknown>;
  record: string;
  permission: Permission;
  about: string;
  examples: Readonly<Record<string, DocumentPart>>;
}

const SUBSCRIPTION_EXAMPLE: DocumentPart = {
  id: "sub_1042",
  state: "SUBSCRIPTION_STATE_ACTIVE",
  customerId: "cus_77",
  businessEntity: "Harbor Coffee GmbH",
  planId: "beans-monthly",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-01-15T09:00:00Z",
  updatedAt: "2026-01-15T09:00:00Z",
  activatedAt: "2026-01-15T09:00:00Z",
  expiresAt: "2027-01-15T09:00:00Z",
  billingPeriod: 1,
  billingPeriodUnit: "BILLING_PERIOD_UNIT_MONTH",
};
const INVOICE_EXAMPLE: DocumentPart = {
  id: "inv_9001",
  state: "INVOICE_STATE_UNPAID",
  customerId: "cus_77",
  subscriptionId: "sub_1042",
  businessEntity: "Harbor Coffee GmbH",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-02-15T09:00:00Z",
  updatedAt: "2026-02-15T09:00:07Z",
};
const TRANSACTION_EXAMPLE: DocumentPart = {
  id: "tx_31",
  state: "TRANSACTION_STATE_FAILED",
  invoiceId: "inv_9001",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-02-15T09:00:05Z",
  customerId: "cus_77",
  paymentMethodType: "card",
  paymentGatewayName: "Example Pay",
  paymentGatewayErrorCode: "insufficient_funds",
  networkDeclineCode: "51",
  cardBrand: "visa",
  cardBin: "411111",
  cardLast4: "1111",
  cardFingerprint: "fp_5e1c",
  cardCountry: "DE",
  cardFunding: "CARD_FUNDING_DEBIT",
  cardExpiryMonth: 8,
  cardExpiryYear: 2028,
  customerTimezone: "Europe/Berlin",
  initiator: "TRANSACTION_INITIATOR_BILLING_SYSTEM",
  attemptNumber: 1,
};

export const INGEST_OPERATIONS: readonly IngestOperation[] = [
  {
    kind: SUBSCRIPTION_KIND,
    record: "Subscription",
    permission: "ingest:subscriptions",
    about: "Push subscriptions when they are created, and whenever they change.",
    examples: {
      active: SUBSCRIPTION_EXAMPLE,
      canceled: {
        ...SUBSCRIPTION_EXAMPLE,
        state: "SUBSCRIPTION_STATE_CANCELED",
        updatedAt: "2026-03-02T18:30:00Z",
        canceledAt: "2026-03-02T18:30:00Z",
      },
    },
  },
  {
    kind: INVOICE_KIND,
    record: "Invoice",
    permission: "ingest:invoices",
    about:
      "An unpaid invoice opens a case, and Dunlin plans how to recover it. A paid invoice ends its case. A case has a window: 28 days from `updatedAt`, unless configured otherwise. If the window is over, no case is opened. To try the example, use the current time.",
    examples: {
      unpaid: INVOICE_EXAMPLE,
      paid: { ...INVOICE_EXAMPLE, state: "INVOICE_STATE_PAID", updatedAt: "2026-02-20T06:12:44Z" },
    },
  },
  {
    kind: TRANSACTION_KIND,
    record: "Transaction",
    permission: "ingest:transactions",
    about:
      "An addition to the interface: payment attempts. Dunlin works without them, but decides better with decline codes.",
    examples: {
      failed: TRANSACTION_EXAMPLE,
      paid: {
        ...TRANSACTION_EXAMPLE,
        id: "tx_32",
        state: "TRANSACTION_STATE_PAID",
        createdAt: "2026-02-20T06:12:40Z",
        paymentGatewayErrorCode: null,
        networkDeclineCode: null,
        recoveryActionId: "019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77",
        initiator: "TRANSACTION_INITIATOR_RECOVERY_ACTION",
        attemptNumber: 2,
      },
    },
  },
];

export function refusedBodies({ kind, examples }: IngestOperation): Readonly<Record<string, string>> {
  const record = Object.values(examples)[0]!;
  const body = (...records: DocumentPart[]) => JSON.stringify({ [kind.name]: records });
  const { amount: _, ...withoutAmount } = record;
  return {
    missingField: body(record, withoutAmount),
    wrongField: body({ ...record, amount: "49.00" }),
    unknownState: body({ ...record, state: "PAID" }),
    noSuchDay: body({ ...record, createdAt: "2026-02-30T09:00:00Z" }),
    cardNumber: body({ ...record, note: "card 4111 1111 1111 1111" }),
    noRecords: body(),
    tooManyRecords: body(...Array<DocumentPart>(201).fill(record)),
    noArray: "{}",
    notJson: `{"${kind.name}": [`,
    doubleKey: body(record).replace('"amount"', '"amount":1,"amount"'),
  };
}

function refusalOf(kind: RecordKind<unknown>, body: string): string {
  try {
    parseBatch(kind, Buffer.from(body));
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
  throw new Error(`an example of a refused body of ${kind.name} was accepted`);
}

export function buildIngestOperation(ingest: IngestOperation): DocumentPart {
  const { kind, record, permission, about, examples } = ingest;
  const badRequests: MessagesByExample = Object.fromEntries(
    Object.entries(refusedBodies(ingest)).map(([name, body]) => [name, refusalOf(kind, body)]),
  );
  return {
    tags: ["Ingest"],
    operationId: `ingest${kind.name[0]!.toUpperCase()}${kind.name.slice(1)}`,
    summary: `Push ${kind.name}`,
    description: `${about}\n\nNeeds the permission \`${permission}\`. Dunlin stores all records of a batch (1 to 200) or none. You can send a batch again at any time. For each id, the version with the newer updatedAt wins. On a tie, the version whose state is further along wins; without updatedAt, the one that arrives later. An older version changes nothing and also gets a 200.`,
    parameters: [CALLER_REQUEST_ID],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${record}Batch` },
          examples: Object.fromEntries(
            Object.entries(examples).map(([name, each]) => [name, { value: { [kind.name]: [each] } }]),
          ),
        },
      },
    },
    responses: {
      200: {
        description: "The batch is stored durably.",
        headers: headerRefs(...AUTHENTICATED_HEADERS),
        content: { "application/json": { schema: { $ref: "#/components/schemas/IngestReply" } } },
      },
      ...refusalResponses("ingest", badRequests),
    },
  };
}
