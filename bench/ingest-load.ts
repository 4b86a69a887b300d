// A process of `ingest` and `reading`: sends what it prepared before the clock starts, over HTTPS to the service or by COPY to its database.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { connectTo, copyIn } from "./copy.ts";
import { openPoster, postRequest } from "./https-posts.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { BATCH, bodyOf, COPY_COLUMNS, copyTextOf, createMaker, type Mix } from "./invoice-batches.ts";
import { answer } from "./part.ts";

const CONNECTIONS = 8;
const COPY = `copy bench_invoices (${COPY_COLUMNS}) from stdin`;

export interface Prepared {
  /** `bare`: over HTTPS to what only parses. */
  way: "https" | "bare" | "copy";
  mix: Mix;
  batches: number;
  /** COPY only: so many batches in one transaction. */
  together?: number;
  /** New invoices only, whatever the mix. */
  fresh?: boolean;
}

const maker = createMaker(Date.now());
const twinMaker = createMaker(Date.now());
const merchantId = randomUUID();
let facts: IngestFacts;
type Posters = Awaited<ReturnType<typeof openPoster>>[];
const posters: Record<"https" | "bare", Posters> = { https: [], bare: [] };
let clients: pg.Client[] = [];
let way: Prepared["way"] = "https";
let pieces: Buffer[] = [];

const postersTo = (port: number): Promise<Posters> =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => openPoster(port, facts.ca)));

async function drain(send: (index: number, piece: Buffer) => Promise<void>) {
  const waiting = pieces.values();
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, index) => {
      for (const piece of waiting) await send(index, piece);
    }),
  );
  pieces = [];
  return performance.now() - startedMs;
}

function pieceTexts({ mix, batches, together = 1 }: Prepared): string[] {
  const texts = twinMaker.batches(mix, batches, true).map((batch) => copyTextOf(batch, merchantId));
  return Array.from({ length: Math.ceil(batches / together) }, (_, index) =>
    texts.slice(index * together, (index + 1) * together).join(""),
  );
}

answer({
  async connect(given: IngestFacts) {
    facts = given;
    posters.https = await postersTo(facts.port);
    if (facts.barePort !== undefined) posters.bare = await postersTo(facts.barePort);
    clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectTo(facts.address)));
  },
  prepare(what: Prepared) {
    way = what.way;
    pieces =
      way === "copy"
        ? pieceTexts(what).map((text) => Buffer.from(text))
        : maker
            .batches(what.mix, what.batches, what.fresh === true)
            .map((batch) => postRequest("/ingest/v1/invoices", facts.apiKey, bodyOf(batch)));
    return { records: what.batches * BATCH, bytes: pieces[0]!.length };
  },
  run() {
    const by = way;
    return by === "copy"
      ? drain((index, piece) => copyIn(clients[index]!, COPY, piece))
      : drain((index, piece) => posters[by][index]!.post(piece));
  },
});
