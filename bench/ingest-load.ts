// A process of `ingest` and `reading`: sends what it prepared before the clock starts, over HTTPS to the service or by COPY to its database.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { connectTo, copyIn } from "./copy.ts";
import { openPoster, postRequest } from "./https-posts.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { BATCH, bodyOf, createMaker, type Mix } from "./invoice-batches.ts";
import { answer } from "./part.ts";
import { type Copy, copyOf } from "./twins.ts";

const CONNECTIONS = 8;

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
/** What `run` sends: requests, or copies. */
let requests: Buffer[] = [];
let copies: Copy[] = [];

const postersTo = (port: number): Promise<Posters> =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => openPoster(port, facts.ca)));

async function drain<Piece>(pieces: readonly Piece[], send: (index: number, piece: Piece) => Promise<void>) {
  const waiting = pieces.values();
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, index) => {
      for (const piece of waiting) await send(index, piece);
    }),
  );
  return performance.now() - startedMs;
}

function copiesOf({ mix, batches, together = 1 }: Prepared): Copy[] {
  const made = twinMaker.batches(mix, batches, true);
  return Array.from({ length: Math.ceil(batches / together) }, (_, index) =>
    copyOf(made.slice(index * together, (index + 1) * together).flat(), merchantId),
  );
}

answer({
  async connect(given: IngestFacts) {
    facts = given;
    posters.https = await postersTo(facts.port);
    posters.bare = await postersTo(facts.barePort);
    clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectTo(facts.address)));
  },
  prepare(what: Prepared) {
    way = what.way;
    if (way === "copy") copies = copiesOf(what);
    else
      requests = maker
        .batches(what.mix, what.batches, what.fresh === true)
        .map((batch) => postRequest("/ingest/v1/invoices", facts.apiKey, bodyOf(batch)));
    return { records: what.batches * BATCH };
  },
  run() {
    const by = way;
    return by === "copy"
      ? drain(copies, (index, copy) => copyIn(clients[index]!, copy))
      : drain(requests, (index, request) => posters[by][index]!.post(request));
  },
});
