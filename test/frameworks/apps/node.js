import { createServer } from "node:https";
import { nodeListener } from "@dunlin/sdk";
import { receiver } from "./receiver.js";
import { host, listening, port, tls } from "./serving.js";

createServer(tls, nodeListener(receiver)).listen(port, host, listening);
