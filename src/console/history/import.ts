import type { FastifyReply } from "fastify";
import { createInFlight } from "../../api/in-flight.ts";
import { FileRefused } from "../../domain/file-refused.ts";
import { readingOf } from "../../domain/reading.ts";
import { auditImport } from "../../history/audit-import.ts";
import { HISTORY_KINDS, KIND_NAMES } from "../../history/kinds.ts";
import { faultsOf, isWhole, takeRows } from "../../history/take-rows.ts";
import { type Audited, listAudited } from "../../store/audit-log.ts";
import { findMerchant } from "../../store/merchants.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { PageError } from "../page-error.ts";
import { readQuery } from "../query.ts";
import { inPages, sendCsv } from "../show/csv.ts";
import { notice } from "../show/fields.ts";
import { zonedIso } from "../show/moments.ts";
import type { Visit } from "../visit.ts";
import { importPage } from "./import-page.ts";
import { importResult, type Sent } from "./import-result.ts";
import { type Upload, withUpload } from "./upload.ts";

const CSV_PAGE = 1_000;
const HEADINGS = ["at_utc", "at", "by", "kind", "file", "rows", "known_before", "whole_file"];

/** Pages that show the stored history and import more from files. */
export function importRoutes(console: Console) {
  const { page } = console;
  page("/import", null, (visit) => {
    readQuery(visit.query, {});
    return importPage(visit);
  });
  page("/import.csv", null, ({ db, query, merchantId, person: { zone }, reply }) => {
    readQuery(query, {});
    const pages = inPages(
      CSV_PAGE,
      (last: Audited | null) =>
        listAudited(db, merchantId, { noun: "history", ...(last && { before: last.id }) }, CSV_PAGE),
      ({ at, actor, object, details }) => [
        at.toISOString(),
        zonedIso(at, zone),
        actor,
        object,
        String(details.file),
        Number(details.rows),
        Number(details["known before"]),
        String(details["whole file"] ?? "yes"),
      ],
    );
    return sendCsv(reply, "imports.csv", HEADINGS, pages);
  });
  uploads(console);
}

/** Three buttons of one form. */
function uploads(console: Console) {
  const { page, upload, ports, onWithdrawn, clockSkewMs } = console;
  const arriving = createInFlight();
  type Take = (sent: Upload, visit: Visit) => Promise<Sent>;
  type Answer = (sent: Sent, visit: Visit, typed: URLSearchParams) => Promise<Page> | FastifyReply;
  const taking = (path: string, take: Take, answer: Answer) =>
    upload(path, "import", async (visit) => {
      if (!arriving.enter(visit.merchantId, 1, visit.reply.raw))
        throw new PageError(409, "Another file is arriving for this merchant. Send this one when it is done.");
      let typed = new URLSearchParams();
      try {
        const sent = await withUpload(visit.reply.request.raw, (each) => {
          typed = each.fields;
          return take(each, visit);
        });
        return answer(sent, visit, typed);
      } catch (error) {
        if (!(error instanceof FileRefused)) throw error;
        return {
          ...(await importPage(visit, { short: notice("bad", `${error.message}.`), long: null }, typed)),
          status: 422,
        };
      }
    });
  const clock = () => ({ now: ports.now(), skewMs: clockSkewMs });
  const check: Take = async ({ fields, file }) => {
    const { kind, reading } = saidOf(fields, file.name);
    return {
      kind,
      file: file.name,
      taken: await takeRows(file, HISTORY_KINDS[kind].kind, reading, undefined, clock()),
      stored: null,
    };
  };
  const store: Take = async ({ fields, file }, { db, merchantId, actor }) => {
    const { kind, reading } = saidOf(fields, file.name);
    const merchant = (await findMerchant(db, merchantId))!;
    const stored = { rows: 0, known: 0 };
    const taken = await takeRows(
      file,
      HISTORY_KINDS[kind].kind,
      reading,
      async (records) => {
        const done = await HISTORY_KINDS[kind].store(db, merchant, records, ports, onWithdrawn);
        stored.known += records.length - done.stored;
        stored.rows += records.length;
      },
      clock(),
    );
    if (stored.rows > 0)
      await auditImport(db, merchantId, actor, { kind, file: file.name, ...stored, whole: isWhole(taken) }, ports);
    return { kind, file: file.name, taken, stored };
  };
  const show: Answer = (sent, visit, typed) => importPage(visit, importResult(sent, visit.person.zone), typed);
  taking("/import/check", check, show);
  taking("/import", store, show);
  taking("/import/wrong.csv", check, ({ taken: { wrong, broken, place } }, { reply }) => {
    const rows = faultsOf(wrong).map(({ line, column, says }) => [line, column, says]);
    return sendCsv(
      reply,
      "wrong-rows.csv",
      [place, "column", "error"],
      [broken === null ? rows : [...rows, [null, null, broken]]],
    );
  });
  // An answer stands under the address of its button, which means nothing to who opens it later.
  for (const path of ["/import/check", "/import/wrong.csv"]) page(path, null, ({ reply }) => goTo(reply, "/import"));
}

const READING = ["map", "states", "dates", "decimals"] as const;

/** The fields of the form about its file. */
function saidOf(fields: URLSearchParams, file: string) {
  const kind = KIND_NAMES.find((each) => each === fields.get("kind"));
  if (!kind) throw new FileRefused(`Choose what is in the file: ${KIND_NAMES.join(", ")}`);
  if (file === "") throw new FileRefused("Choose a file");
  const said = Object.fromEntries(READING.map((name) => [name, fields.get(name) || undefined]));
  const known = HISTORY_KINDS[kind].kind.fields;
  return { kind, reading: readingOf(said, known, known.get("state")!.words!) };
}
