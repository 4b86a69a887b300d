import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, type DunlinError, httpsTransport, type Transport } from "#sdk";
import { integerBetween, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { WebhookBody } from "../harness/receiver.ts";
import type { RecordKindName, SentRecord, SentRecords } from "./sent-records.ts";

/** A batch of new records, which must be stored completely or not at all. */
export interface Batch {
  kind: RecordKindName;
  ids: string[];
  /** Not repeated after a failure, so it is unknown whether it was stored. */
  abandoned: boolean;
}

export interface RecordPusher {
  /** Answers by status; 0: none. */
  answers: Map<number, number>;
  batches: Batch[];
  /** Answers that a client should never see. */
  wrong: string[];
  /** Begins to bill. */
  start(): void;
  onEvent(event: WebhookBody): void;
  /** Stops new debts and changes; received instructions are still carried out. */
  stopBilling(): Promise<void>;
  /** Pays all open invoices. */
  settle(): Promise<void>;
  /** Resolves when all reactions so far are acknowledged. */
  idle(): Promise<void>;
  stop(): void;
}

export interface RecordPusherOptions {
  seed: number;
  baseUrl: string;
  apiKey: string;
  ca: string;
  books: SentRecords;
  onAcknowledged(): void;
  /** Called when a large batch was sent that will not be repeated if it fails. */
  onLargeBatch(): void;
}

const WORKERS = 4;
const WORKER_TURN_MS = 60;
const ABANDONED_RATE = 0.3;
const REACTION_MS = 20;
const BATCH_SIZE = 100;

/**
 * Creates the merchant's client: several connections, each request repeated until it is acknowledged, except for some that are
 * abandoned.
 */
export function createRecordPusher(options: RecordPusherOptions): RecordPusher {
  const { seed, books } = options;
  const answers = new Map<number, number>();
  const batches: Batch[] = [];
  const wrong: string[] = [];
  let told: WebhookBody[] = [];
  let stopped = false;
  let billing = false;
  let draws = 0;
  const draw = () => keyedRandom(seed, "pushing", draws++);
  const clients = Array.from({ length: WORKERS + 1 }, () =>
    createClient({ ...options, transport: withRecordedAnswers(httpsTransport(options), answers, wrong), triesMax: 1 }),
  );

  async function push(client: Client, kind: RecordKindName, records: readonly SentRecord[], batch?: Batch) {
    if (records.length === 0) return;
    books.noteSent(kind, records);
    for (let tries = 1; ; tries++) {
      const failure = await send(client, kind, records).then(
        () => null,
        (error: DunlinError) => error,
      );
      if (failure === null) break;
      if (failure.code >= 400 && failure.code < 500 && failure.code !== 429) {
        wrong.push(`${failure.code} to ${kind}: ${failure.message}`);
        if (batch) batch.abandoned = true;
        return;
      }
      if (batch && (batch.ids.length === BATCH_SIZE || draw() < ABANDONED_RATE)) {
        batch.abandoned = true;
        return;
      }
      if (stopped) throw new Error(`${kind} were not acknowledged when everything stopped`);
      await sleep(Math.min(1_000, 40 * 2 ** Math.min(tries, 4)));
    }
    books.noteAcknowledged(kind, records);
    options.onAcknowledged();
  }

  async function pushNew(client: Client, kind: RecordKindName, records: readonly SentRecord[]) {
    const batch: Batch = { kind, ids: records.map(({ id }) => id), abandoned: false };
    batches.push(batch);
    if (records.length === BATCH_SIZE) setImmediate(options.onLargeBatch);
    await push(client, kind, records, batch);
  }

  async function turn(client: Client) {
    const what = draw();
    if (what < 0.1) {
      const debts = books.newDebts(integerBetween(draw(), 2, 8));
      // Concurrently, so that they can arrive in any order.
      await Promise.all([
        pushNew(client, "subscriptions", debts.subscriptions),
        pushNew(client, "invoices", debts.invoices),
        pushNew(client, "transactions", debts.transactions),
      ]);
    } else if (what < 0.5) await push(client, "subscriptions", books.changes(5));
    else if (what < 0.54) {
      const { invoices, transactions } = books.payments(integerBetween(draw(), 1, 3));
      await Promise.all([push(client, "invoices", invoices), push(client, "transactions", transactions)]);
    } else if (what < 0.55) await push(client, "subscriptions", books.cancellation());
    else if (what < 0.59) await pushNew(client, "subscriptions", books.prospects(BATCH_SIZE));
    else if (what < 0.65)
      await client.recoveryActions
        .page({ pageSize: 50, orderBy: "created_at", orderDirection: "desc" })
        .catch(() => {});
  }

  async function work(client: Client) {
    while (billing) {
      await turn(client);
      await sleep(WORKER_TURN_MS * (0.5 + draw()));
    }
  }

  /** Sends the reactions collected meanwhile together. */
  async function react(client: Client) {
    while (!stopped) {
      const events = told;
      told = [];
      reacting = events.length;
      const done = events.map(books.reaction);
      const transactions = done.flatMap((each) => each.transactions);
      for (let from = 0; from < transactions.length; from += BATCH_SIZE)
        await push(client, "transactions", transactions.slice(from, from + BATCH_SIZE));
      const paid = done.flatMap((each) => each.invoices);
      for (let from = 0; from < paid.length; from += BATCH_SIZE)
        await push(client, "invoices", paid.slice(from, from + BATCH_SIZE));
      reacting = 0;
      await sleep(REACTION_MS);
    }
  }

  let reacting = 0;
  let workers: Promise<unknown> = Promise.resolve();
  const idle = async () => {
    while (told.length + reacting > 0) await sleep(20);
  };
  const send = (client: Client, kind: RecordKindName, records: readonly SentRecord[]): Promise<unknown> =>
    kind === "subscriptions"
      ? client.ingest.subscriptions(records as never)
      : kind === "invoices"
        ? client.ingest.invoices(records as never)
        : client.ingest.transactions(records as never);

  return {
    answers,
    batches,
    wrong,
    onEvent: (event) => void told.push(event),
    start() {
      billing = true;
      workers = Promise.all(clients.slice(1).map(work));
      // `stop` awaits them and gets the error; an abandoned run does not wait.
      workers.catch(() => {});
      react(clients[0]!).catch((error) => wrong.push(String(error)));
    },
    async stopBilling() {
      billing = false;
      await workers;
    },
    async settle() {
      await idle();
      const paid = books.settlement();
      for (let from = 0; from < paid.length; from += BATCH_SIZE)
        await push(clients[1]!, "invoices", paid.slice(from, from + BATCH_SIZE));
    },
    idle,
    stop() {
      stopped = true;
      billing = false;
      for (const client of clients) client.close();
    },
  };
}

/** Counts the answers, and checks the service's answers to failed requests. */
function withRecordedAnswers(transport: Transport, answers: Map<number, number>, wrong: string[]): Transport {
  const count = (status: number) => answers.set(status, (answers.get(status) ?? 0) + 1);
  return {
    close: () => transport.close(),
    async send(request) {
      try {
        const answer = await transport.send(request);
        count(answer.status);
        const retryAfter = answer.headers["retry-after"];
        if (answer.status >= 500 && !(answer.status === 503 && retryAfter !== undefined))
          wrong.push(`${answer.status} ${answer.body} (Retry-After: ${retryAfter ?? "none"})`);
        return answer;
      } catch (error) {
        count(0);
        throw error;
      }
    },
  };
}
