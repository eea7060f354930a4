"""A weather service of your own: the same weather everywhere, so that the example needs no network.

The port is 8091, or the first argument: 0 for a free one. The service prints its address.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse


class Weather(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urlparse(self.path)
        city = parse_qs(asked.query).get("city", ["?"])[0]
        body = json.dumps({"city": city, "temp": 21, "sky": "clear"}, ensure_ascii=False).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8091), Weather)
print(f"127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
