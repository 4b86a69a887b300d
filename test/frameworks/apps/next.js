import { createServer } from "node:https";
import next from "next";
import { host, listening, port, tls } from "./serving.js";

const app = next({ dev: false });
await app.prepare();
createServer(tls, app.getRequestHandler()).listen(port, host, listening);
