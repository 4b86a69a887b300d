import type { IncomingMessage } from "node:http";
import { finished } from "node:stream/promises";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { FileRefusedError } from "../../domain/file-refused-error.ts";
import { allowSlowBody } from "../../http/slow-body.ts";
import type { HistoryFile } from "../../import/file-rows.ts";
import { PageError } from "../page-error.ts";

export interface UploadedForm {
  /** The ones before the file. */
  fields: URLSearchParams;
  file: HistoryFile;
}

/** Millions of rows. Larger files do not belong into a browser. */
export const UPLOAD_BYTES_MAX = 512 * 1024 * 1024;
const MIB = 1024 * 1024;
const FIELDS_MAX = 8;
const FIELD_BYTES_MAX = 8 * 1024;
const NAME_CHARS_MAX = 255;

/**
 * `work` reads the file while it arrives. Drops the rest, because browsers show a response only after sending everything.
 *
 * @throws PageError if the form is too large, malformed or without a file
 */
export async function withUpload<T>(request: IncomingMessage, work: (upload: UploadedForm) => Promise<T>): Promise<T> {
  const { "content-type": type = "", "content-length": length } = request.headers;
  if (!/^multipart\/form-data\b/i.test(type)) throw new PageError(415, "Send the file as multipart/form-data.");
  if (length === undefined) throw new PageError(411, "The request needs a Content-Length.");
  if (Number(length) > UPLOAD_BYTES_MAX) throw new PageError(413, TOO_LARGE_MESSAGE);
  const form = parseForm(request);
  allowSlowBody(request);
  try {
    return await work(await findFile(request, form));
  } finally {
    request.unpipe(form);
    request.resume();
    await finished(request).catch(() => {}); // the connection is gone
  }
}

const TOO_LARGE_MESSAGE = `The file is larger than ${UPLOAD_BYTES_MAX / MIB} MiB. Nothing was stored. Split the file, or use the command, which has no size limit.`;

function parseForm({ headers }: IncomingMessage) {
  const limits = {
    fields: FIELDS_MAX,
    fieldSize: FIELD_BYTES_MAX,
    files: 1,
    parts: FIELDS_MAX + 1,
    headerPairs: 16,
    headerSize: FIELD_BYTES_MAX,
  };
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits });
  } catch {
    throw new PageError(400, "The form is malformed.");
  }
}

function findFile(request: IncomingMessage, form: ReturnType<typeof parseForm>): Promise<UploadedForm> {
  const fields = new URLSearchParams();
  return new Promise((resolve, reject) => {
    form.on("field", (name, value) => fields.append(name, value));
    form.on("file", (_name, file, name) => {
      // The parser only emits the error, maybe before the file is read, and then ends the file as if it were complete.
      file.on("error", (error) => void file.destroy(error));
      request.once("close", () => request.readableEnded || file.destroy(new Error("the connection ended")));
      resolve({ fields, file: { name: sanitizeFileName(name ?? ""), bytes: streamCompleteFile(file) } });
    });
    form.on("error", () => reject(new PageError(400, "The form is malformed.")));
    form.on("finish", () => reject(new PageError(400, "The form contains no file.")));
    request.once("close", () => reject(new PageError(400, "The connection ended before the file arrived.")));
    request.pipe(form);
  });
}

async function* streamCompleteFile(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* file;
  } catch {
    throw new FileRefusedError("the file did not arrive completely");
  }
}

/** Can be stored and shown on one line. */
const sanitizeFileName = (name: string) =>
  name
    .replace(/\p{Cc}/gu, " ")
    .slice(0, NAME_CHARS_MAX)
    .toWellFormed();
