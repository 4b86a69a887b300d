import { randomInt } from "node:crypto";
import { postRequest } from "../https-posts.ts";
import { BATCH, createInvoiceMaker, newerVersionOf, requestBodyOf } from "../invoice-batches.ts";

/** Built before the clock starts. */
export interface RequestPasses {
  /** New invoices, which the first pass changes. Sent before it. */
  first: Buffer[];
  /** Half new invoices, 1% unpaid; half newer versions from the previous pass. */
  request(number: number): Buffer;
  /** In so many requests and `first`. */
  fresh(requests: number): number;
}

/** The first two of a serial number's six digits are the pass. */
const ID = Buffer.from('"id":"in_');
const PASSES_MAX = 36 ** 2;

/** @param count  requests per pass, an even number */
export function makePasses(apiKey: string, count: number): RequestPasses {
  const half = BATCH / 2;
  const batches = createInvoiceMaker(Date.now()).batches("changes", count / 2, true);
  const fresh = batches.flat();
  const changed = shuffle(fresh.map(newerVersionOf));
  const request = (invoices: typeof fresh) => postRequest("/ingest/v1/invoices", apiKey, requestBodyOf(invoices));
  const templates = Array.from({ length: count }, (_, index) => {
    const of = (all: typeof fresh) => all.slice(index * half, (index + 1) * half);
    const text = request([...of(fresh), ...of(changed)]);
    return { text, places: findIdOffsets(text) };
  });
  return {
    first: batches.map(request),
    request(number) {
      const pass = Math.floor(number / count) + 1;
      if (pass >= PASSES_MAX) throw new Error(`there are ${PASSES_MAX - 1} passes`);
      const { text, places } = templates[number % count]!;
      // The previous request may still be in flight.
      const made = Buffer.from(text);
      places.forEach((place, index) => {
        const digits = (index < half ? pass : pass - 1).toString(36).padStart(2, "0");
        made.write(digits, place, "latin1");
      });
      return made;
    },
    fresh: (requests) => fresh.length + requests * half,
  };
}

function findIdOffsets(text: Buffer): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(ID); at >= 0; at = text.indexOf(ID, at + 1)) places.push(at + ID.length);
  return places;
}

/** Spreads changes over the table. */
function shuffle<Item>(items: Item[]): Item[] {
  for (let i = items.length - 1; i > 0; i--) {
    const other = randomInt(i + 1);
    [items[i], items[other]] = [items[other]!, items[i]!];
  }
  return items;
}
