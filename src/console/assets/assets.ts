import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { acceptsGzip } from "../console.ts";

/** Between rules with the same weight the later one wins. */
const STYLES = [
  ...["tokens", "frame", "parts", "controls", "lists", "plots", "page", "tables", "forms", "story", "charts"],
  ...["experiments", "screens", "narrow"],
];

const FILES = [
  ["console.css", "text/css; charset=utf-8", STYLES.map((name) => `styles/${name}.css`)],
  ["console.js", "text/javascript; charset=utf-8", ["console.js"]],
  ["console.svg", "image/svg+xml", ["console.svg"]],
  ["inter.woff2", "font/woff2", ["fonts/inter.woff2"]],
] as const;

/** Browsers may cache them, because they contain no data. */
export function assetRoutes({ http }: { http: FastifyInstance }) {
  for (const [name, type, files] of FILES) {
    const plain = Buffer.concat(files.map((file) => readFileSync(new URL(file, import.meta.url))));
    // A font is compressed already.
    const packed = type.startsWith("font/") ? null : gzipSync(plain, { level: 9 });
    const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 16)}"`;
    const headers = { "content-type": type, "cache-control": "public, max-age=300", vary: "accept-encoding", etag };
    http.get(`/${name}`, async (request, reply) => {
      reply.headers(headers);
      if (request.headers["if-none-match"] === etag) return reply.code(304).send();
      if (packed === null || !acceptsGzip(request.headers)) return reply.send(plain);
      return reply.header("content-encoding", "gzip").send(packed);
    });
  }
}
