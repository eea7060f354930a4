"""A weather service of your own: the same weather everywhere, so that the example needs no network."""

import json
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


HTTPServer(("127.0.0.1", 8091), Weather).serve_forever()
