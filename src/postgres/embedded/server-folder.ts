import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, realpath, rename, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where the embedded server keeps what is its own. Every path is absolute and without symbolic links. */
export interface ServerFolder {
  root: string;
  /** PostgreSQL's data directory. */
  cluster: string;
  socketDir: string;
  log: string;
}

/** Finds the folder, or makes it. */
export async function openServerFolder(dataDir: string): Promise<ServerFolder> {
  await mkdir(dataDir, { recursive: true });
  const root = await realpath(dataDir);
  return { root, cluster: join(root, "cluster"), socketDir: await socketDirOf(root), log: join(root, "postgres.log") };
}

// The system's limit is 107 bytes on Linux and 103 on macOS, and PostgreSQL adds "/.s.PGSQL.5432".
const SOCKET_DIR_BYTES = 88;

/** Inside the data folder, or, where that makes too long a path, in the system's temporary folder under a name that follows from it. */
async function socketDirOf(root: string): Promise<string> {
  const inside = join(root, "socket");
  // PostgreSQL reads the setting as a list: a comma or quote in the path would cut it.
  if (Buffer.byteLength(inside) <= SOCKET_DIR_BYTES && !/[",']/.test(inside)) return inside;
  const hash = createHash("sha256").update(root).digest("hex").slice(0, 16);
  return join(await realpath(tmpdir()), `dunlin-${hash}`);
}

const MAX_LOG_BYTES = 10_000_000;

/** The server's log, to append to; begun anew when it has become large, with the former one kept beside it. */
export async function openServerLog(folder: ServerFolder): Promise<FileHandle> {
  if ((await serverLogBytes(folder)) > MAX_LOG_BYTES) await rename(folder.log, `${folder.log}.1`);
  return open(folder.log, "a", 0o600);
}

/** How long the server's log is now: what comes later tells why a start failed. */
export async function serverLogBytes(folder: ServerFolder): Promise<number> {
  const found = await stat(folder.log).catch(() => undefined);
  return found?.size ?? 0;
}
