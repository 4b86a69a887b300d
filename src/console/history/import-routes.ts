import type { FastifyReply } from "fastify";
import { parseCsvFormat } from "../../domain/csv-format.ts";
import { FileRefusedError } from "../../domain/file-refused-error.ts";
import { createInFlightRequests } from "../../http/in-flight.ts";
import { auditImport } from "../../import/audit-import.ts";
import { importFile, isComplete, listFaults } from "../../import/import-file.ts";
import { HISTORY_KIND_BY_NAME, KIND_NAMES } from "../../import/record-kinds.ts";
import { type AuditEntry, listAuditEntries } from "../../tables/audit-log.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { type Console, redirectTo } from "../console.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { parsePageQuery } from "../page-query.ts";
import { readInPages, sendCsv } from "../show/csv-export.ts";
import { formNotice } from "../show/form-fields.ts";
import { formatZonedIso } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { importPage } from "./import-page.ts";
import { buildImportResult, type UploadedFile } from "./import-result.ts";
import { type UploadedForm, withUpload } from "./upload.ts";

const CSV_PAGE_ROWS = 1_000;
const HEADINGS = ["at_utc", "at", "by", "kind", "file", "rows", "known_before", "whole_file"];

export function importRoutes(console: Console) {
  const { page } = console;
  page("/import", null, (visit) => {
    parsePageQuery(visit.query, {});
    return importPage(visit);
  });
  page("/import.csv", null, ({ db, query, merchantId, person: { zone }, reply }) => {
    parsePageQuery(query, {});
    const pages = readInPages(
      CSV_PAGE_ROWS,
      (last: AuditEntry | null) =>
        listAuditEntries(db, merchantId, { noun: "history", ...(last && { before: last.id }) }, CSV_PAGE_ROWS),
      ({ at, actor, object, details }) => [
        at.toISOString(),
        formatZonedIso(at, zone),
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
  uploadRoutes(console);
}

function uploadRoutes(console: Console) {
  const { page, upload, ports, onWithdrawn, clockSkewMs } = console;
  const uploads = createInFlightRequests();
  type Process = (form: UploadedForm, visit: Visit) => Promise<UploadedFile>;
  type Answer = (result: UploadedFile, visit: Visit, typed: URLSearchParams) => Promise<Page> | FastifyReply;
  const addUpload = (path: string, process: Process, answer: Answer) =>
    upload(path, "import", async (visit) => {
      if (!uploads.enter(visit.merchantId, 1, visit.reply.raw))
        throw new PageError(409, "Another file is being uploaded for this merchant. Upload this one when it is done.");
      let typed = new URLSearchParams();
      try {
        const result = await withUpload(visit.reply.request.raw, (form) => {
          typed = form.fields;
          return process(form, visit);
        });
        return answer(result, visit, typed);
      } catch (error) {
        if (!(error instanceof FileRefusedError)) throw error;
        return {
          ...(await importPage(visit, { summary: formNotice("bad", `${error.message}.`), details: null }, typed)),
          status: 422,
        };
      }
    });
  const clock = () => ({ now: ports.now(), skewMs: clockSkewMs });
  const check: Process = async ({ fields, file }) => {
    const { kind, csvFormat } = readFileForm(fields, file.name);
    return {
      kind,
      file: file.name,
      taken: await importFile(file, HISTORY_KIND_BY_NAME[kind].recordKind, csvFormat, undefined, clock()),
      stored: null,
    };
  };
  const store: Process = async ({ fields, file }, { db, merchantId, actor }) => {
    const { kind, csvFormat } = readFileForm(fields, file.name);
    const merchant = (await findMerchant(db, merchantId))!;
    const stored = { rows: 0, known: 0 };
    const taken = await importFile(
      file,
      HISTORY_KIND_BY_NAME[kind].recordKind,
      csvFormat,
      async (records) => {
        const done = await HISTORY_KIND_BY_NAME[kind].store(db, merchant, records, ports, onWithdrawn);
        stored.known += records.length - done.stored;
        stored.rows += records.length;
      },
      clock(),
    );
    if (stored.rows > 0)
      await auditImport(db, merchantId, actor, { kind, file: file.name, ...stored, whole: isComplete(taken) }, ports);
    return { kind, file: file.name, taken, stored };
  };
  const show: Answer = (result, visit, typed) => importPage(visit, buildImportResult(result, visit.person.zone), typed);
  addUpload("/import/check", check, show);
  addUpload("/import", store, show);
  addUpload("/import/wrong.csv", check, ({ taken: { wrong, broken, place } }, { reply }) => {
    const rows = listFaults(wrong).map(({ line, column, says }) => [line, column, says]);
    return sendCsv(
      reply,
      "wrong-rows.csv",
      [place, "column", "error"],
      [broken === null ? rows : [...rows, [null, null, broken]]],
    );
  });
  // A page has its button's address, which someone may open later.
  for (const path of ["/import/check", "/import/wrong.csv"])
    page(path, null, ({ reply }) => redirectTo(reply, "/import"));
}

const FORMAT_FIELDS = ["map", "states", "dates", "decimals"] as const;

function readFileForm(fields: URLSearchParams, file: string) {
  const kind = KIND_NAMES.find((each) => each === fields.get("kind"));
  if (!kind) throw new FileRefusedError(`Choose the kind of record: ${KIND_NAMES.join(", ")}`);
  if (file === "") throw new FileRefusedError("Choose a file");
  const input = Object.fromEntries(FORMAT_FIELDS.map((name) => [name, fields.get(name) || undefined]));
  const recordFields = HISTORY_KIND_BY_NAME[kind].recordKind.fields;
  return { kind, csvFormat: parseCsvFormat(input, recordFields, recordFields.get("state")!.values!) };
}
