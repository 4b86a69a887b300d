import { findRequest, type LoggedRequest, listRequests, UNAUTHENTICATED_MERCHANT_ID } from "../tables/request-log.ts";
import {
  type Command,
  CommandFailure,
  EXIT_CODES,
  formatTable,
  integerOption,
  isUuid,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

export const requestShow: Command = {
  name: "request show",
  usage: "REQUEST_ID [--json]",
  summary: "Show a request by its requestId, for 30 days",
  options: { json: { type: "boolean" } },
  positionals: ["REQUEST_ID"],
  examples: ["npx dunlin request show req_0198…"],
  async run(context, values, [requestId]) {
    const id = requestId!.trim().toLowerCase().replace(/^req_/, "");
    if (!isUuid(id)) throw new UsageError(`"${requestId}" is not a requestId: req_ and a UUID.`);
    return withDatabase(context, async ({ db }) => {
      const found = await findRequest(db, id);
      if (!found) throw new CommandFailure(`There is no request ${requestId} in the log, which goes back 30 days.`);
      if (values.json) context.print(JSON.stringify(toRequestJson(found)));
      else for (const [name, value] of requestLines(found)) context.print(`${name.padEnd(12)} ${value}`);
      return EXIT_CODES.ok;
    });
  },
};

export const requestList: Command = {
  name: "request list",
  usage: `[options]
  --merchant M             the merchant; not needed if there is only one. "none" for callers without a valid key
  --status S               400, or 4xx for 400 to 499
  --limit N                (50)
  --json`,
  summary: "List the requests of a merchant and their responses",
  options: {
    merchant: { type: "string" },
    status: { type: "string" },
    limit: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["npx dunlin request list --merchant 0198… --status 4xx", "npx dunlin request list --merchant none"],
  async run(context, values) {
    const [from, to] = parseStatusRange(values);
    const limit = integerOption(values, "limit", 1, 10_000) ?? 50;
    return withDatabase(context, async ({ db }) => {
      const merchantId =
        textOption(values, "merchant") === "none" ? UNAUTHENTICATED_MERCHANT_ID : await resolveMerchant(db, values);
      const requests = await listRequests(db, merchantId, { from, to, limit });
      if (values.json) context.print(JSON.stringify(requests.map(toRequestJson)));
      else if (requests.length === 0) context.print("No request matches.");
      else for (const line of formatTable(HEADINGS, requests.map(requestCells))) context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

const HEADINGS = ["TIME", "REQUEST", "METHOD", "ROUTE", "STATUS", "MS", "RECORDS", "STORED", "OLDER", "ERROR"];

const requestCells = (request: LoggedRequest) => [
  request.at.toISOString(),
  `req_${request.id}`,
  request.method ?? "-",
  request.route,
  String(request.status),
  formatMilliseconds(request),
  String(request.records ?? ""),
  String(request.stored ?? ""),
  String(request.older ?? ""),
  request.error ?? "",
];

const formatMilliseconds = ({ durationUs }: LoggedRequest) => (durationUs / 1000).toFixed(1);

const toRequestJson = ({ id, merchantId, durationUs, ...request }: LoggedRequest) => ({
  requestId: `req_${id}`,
  merchantId: merchantId === UNAUTHENTICATED_MERCHANT_ID ? null : merchantId,
  ...request,
  durationMs: durationUs / 1000,
});

const requestLines = (request: LoggedRequest): [string, string][] => [
  ["requestId", `req_${request.id}`],
  ["caller's id", request.callerRequestId ?? "-"],
  ["time", request.at.toISOString()],
  ["merchant", request.merchantId === UNAUTHENTICATED_MERCHANT_ID ? "- (no valid key)" : request.merchantId],
  ["key", request.keyId ?? "-"],
  ["request", `${request.method ?? "(unreadable method)"} ${request.route}`],
  ["response", `${request.status} after ${formatMilliseconds(request)} ms`],
  ["records", describeRecords(request)],
  ["error", request.error ?? "-"],
];

/** "12: 9 stored, 2 unchanged, 1 ignored as older" */
export function describeRecords({
  records,
  stored,
  older,
}: Pick<LoggedRequest, "records" | "stored" | "older">): string {
  if (records === null) return "-";
  if (stored === null || older === null) return String(records);
  return `${records}: ${stored} stored, ${records - stored - older} unchanged, ${older} ignored as older`;
}

function parseStatusRange(values: OptionValues): [from: number, to: number] {
  const status = textOption(values, "status");
  if (status === undefined) return [0, 999];
  if (!/^[1-5](xx|\d\d)$/i.test(status)) throw new UsageError(`--status takes 400 or 4xx, not "${status}".`);
  return [Number(status.replace(/x/gi, "0")), Number(status.replace(/x/gi, "9"))];
}
