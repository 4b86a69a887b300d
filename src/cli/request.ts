import { findRequest, type LoggedRequest, listRequests, NOBODY } from "../store/request-log.ts";
import {
  type Command,
  EXIT,
  Failure,
  isUuid,
  table,
  text,
  UsageError,
  type Values,
  wholeNumber,
  withDatabase,
} from "./command.ts";
import { merchantOf } from "./whose.ts";

/** `dunlin request show`: one request by the id that its caller was told. */
export const requestShow: Command = {
  name: "request show",
  usage: "REQUEST_ID [--json]",
  summary: "Show the request that a requestId names, for 30 days",
  options: { json: { type: "boolean" } },
  positionals: ["REQUEST_ID"],
  examples: ["npx dunlin request show req_0198…"],
  async run(context, values, [requestId]) {
    const id = requestId!.trim().toLowerCase().replace(/^req_/, "");
    if (!isUuid(id)) throw new UsageError(`"${requestId}" is not a requestId: req_ and a UUID.`);
    return withDatabase(context, async ({ db }) => {
      const found = await findRequest(db, id);
      if (!found) throw new Failure(`There is no request ${requestId} in the log, which goes back 30 days.`);
      if (values.json) context.print(JSON.stringify(shown(found)));
      else for (const [name, value] of lines(found)) context.print(`${name.padEnd(12)} ${value}`);
      return EXIT.ok;
    });
  },
};

/** `dunlin request list`: the requests of a merchant, newest first. */
export const requestList: Command = {
  name: "request list",
  usage: `[options]
  --merchant M             whose; not needed when there is only one. "none": of callers without a valid key
  --status S               400, or 4xx for 400 to 499
  --limit N                (50)
  --json`,
  summary: "Show the requests of a merchant and what was answered",
  options: {
    merchant: { type: "string" },
    status: { type: "string" },
    limit: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["npx dunlin request list --merchant 0198… --status 4xx", "npx dunlin request list --merchant none"],
  async run(context, values) {
    const [from, to] = statusRange(values);
    const limit = wholeNumber(values, "limit", 1, 10_000) ?? 50;
    return withDatabase(context, async ({ db }) => {
      const merchantId = text(values, "merchant") === "none" ? NOBODY : await merchantOf(db, values);
      const requests = await listRequests(db, merchantId, { from, to, limit });
      if (values.json) context.print(JSON.stringify(requests.map(shown)));
      else if (requests.length === 0) context.print("No request matches.");
      else for (const line of table(HEADINGS, requests.map(cells))) context.print(line);
      return EXIT.ok;
    });
  },
};

const HEADINGS = ["TIME", "REQUEST", "METHOD", "ROUTE", "STATUS", "MS", "RECORDS", "STORED", "OLDER", "ERROR"];

const cells = (request: LoggedRequest) => [
  request.at.toISOString(),
  `req_${request.id}`,
  request.method ?? "-",
  request.route,
  String(request.status),
  milliseconds(request),
  String(request.records ?? ""),
  String(request.stored ?? ""),
  String(request.older ?? ""),
  request.error ?? "",
];

const milliseconds = ({ durationUs }: LoggedRequest) => (durationUs / 1000).toFixed(1);

/** As JSON: with the requestId as its caller knows it, and no merchant where there was none. */
const shown = ({ id, merchantId, durationUs, ...request }: LoggedRequest) => ({
  requestId: `req_${id}`,
  merchantId: merchantId === NOBODY ? null : merchantId,
  ...request,
  durationMs: durationUs / 1000,
});

const lines = (request: LoggedRequest): [string, string][] => [
  ["request", `req_${request.id}`],
  ["caller's id", request.callerRequestId ?? "-"],
  ["time", request.at.toISOString()],
  ["merchant", request.merchantId === NOBODY ? "- (no valid key)" : request.merchantId],
  ["key", request.keyId ?? "-"],
  ["asked", `${request.method ?? "what can't be read"} ${request.route}`],
  ["answered", `${request.status} after ${milliseconds(request)} ms`],
  ["records", recordsWords(request)],
  ["error", request.error ?? "-"],
];

/** "12: 9 stored, 2 unchanged, 1 ignored as older" */
export function recordsWords({ records, stored, older }: Pick<LoggedRequest, "records" | "stored" | "older">): string {
  if (records === null) return "-";
  if (stored === null || older === null) return String(records);
  return `${records}: ${stored} stored, ${records - stored - older} unchanged, ${older} ignored as older`;
}

function statusRange(values: Values): [from: number, to: number] {
  const status = text(values, "status");
  if (status === undefined) return [0, 999];
  if (!/^[1-5](xx|\d\d)$/i.test(status)) throw new UsageError(`--status takes 400 or 4xx, not "${status}".`);
  return [Number(status.replace(/x/gi, "0")), Number(status.replace(/x/gi, "9"))];
}
