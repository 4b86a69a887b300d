import type { IncomingMessage } from "node:http";
import { finished } from "node:stream/promises";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { FileRefusedError } from "../../domain/file-refused-error.ts";
import { allowSlowBody } from "../../http/slow-body.ts";
import type { HistoryFile } from "../../import/file-rows.ts";
import { PageError } from "../page-error.ts";

/** A form with a file, of which nothing is kept: what is read of it is gone. */
export interface UploadedForm {
  /** Those before the file. */
  fields: URLSearchParams;
  file: HistoryFile;
}

/** Millions of rows. What is larger has no place in a browser. */
export const UPLOAD_BYTES_MAX = 512 * 1024 * 1024;
const MIB = 1024 * 1024;
const FIELDS_MAX = 8;
const FIELD_BYTES_MAX = 8 * 1024;
const NAME_CHARS_MAX = 255;

/**
 * Read a form that ends with a file, while `work` reads the file. What `work` leaves is read and dropped, because browsers
 * look at an answer only when all was sent.
 *
 * @throws PageError when it is too large, is no such form, or has no file
 */
export async function withUpload<T>(request: IncomingMessage, work: (upload: UploadedForm) => Promise<T>): Promise<T> {
  const { "content-type": type = "", "content-length": length } = request.headers;
  if (!/^multipart\/form-data\b/i.test(type)) throw new PageError(415, "A file comes as multipart/form-data.");
  if (length === undefined) throw new PageError(411, "The request must say in Content-Length how large it is.");
  if (Number(length) > UPLOAD_BYTES_MAX) throw new PageError(413, TOO_LARGE_MESSAGE);
  const form = parseForm(request);
  allowSlowBody(request);
  try {
    return await work(await findFile(request, form));
  } finally {
    request.unpipe(form);
    request.resume();
    await finished(request).catch(() => {}); // cut off: there is nobody to tell
  }
}

const TOO_LARGE_MESSAGE = `A file may have ${UPLOAD_BYTES_MAX / MIB} MiB here. Nothing was stored. The command takes files of any size, and so does this page in parts.`;

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
    throw new PageError(400, "The form can't be read.");
  }
}

function findFile(request: IncomingMessage, form: ReturnType<typeof parseForm>): Promise<UploadedForm> {
  const fields = new URLSearchParams();
  return new Promise((resolve, reject) => {
    form.on("field", (name, value) => fields.append(name, value));
    form.on("file", (_name, file, name) => {
      // The parser only tells, maybe before anybody reads, and then ends the file as if it were whole.
      file.on("error", (error) => void file.destroy(error));
      request.once("close", () => request.readableEnded || file.destroy(new Error("the connection ended")));
      resolve({ fields, file: { name: sanitizeFileName(name ?? ""), bytes: streamCompleteFile(file) } });
    });
    form.on("error", () => reject(new PageError(400, "The form can't be read.")));
    form.on("finish", () => reject(new PageError(400, "There is no file in the form.")));
    request.once("close", () => reject(new PageError(400, "The connection ended before the file came.")));
    request.pipe(form);
  });
}

async function* streamCompleteFile(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* file;
  } catch {
    throw new FileRefusedError("the file did not arrive whole");
  }
}

/** As it can be stored and shown in a line. */
const sanitizeFileName = (name: string) =>
  name
    .replace(/\p{Cc}/gu, " ")
    .slice(0, NAME_CHARS_MAX)
    .toWellFormed();
