"""A hub like Hugging Face's on this machine: uploads, commits, private repositories."""

import base64
import hashlib
import json
from urllib.parse import quote, urlsplit

from tests.support.file_server import FileServer, Handler, status

TOKEN = "hf_secret"
FIRST, SECOND = "a" * 40, "b" * 40  # commits
MISSING = {"X-Error-Code": "EntryNotFound"}


class HubHandler(Handler):
    """Answers as huggingface_hub expects it, large files by LFS without Xet."""

    def do_GET(self):
        self.respond(super().do_GET)

    def do_HEAD(self):
        self.respond(super().do_HEAD)

    def respond(self, serve):
        place, hub = urlsplit(self.path).path, self.server
        if "/tree/" in place:
            names = hub.trees.get(place.split("/api/models/")[1].split("/tree/")[0], {})
            self.say([{"type": "file", "path": n, "size": 1, "oid": n} for n in names])
        elif hub.private & {"/".join(place.split("/")[1:3])} and not self.known():
            status(401, **{"X-Error-Code": "RepoNotFound"})(self)
        elif place not in hub.files and place not in hub.headers:
            status(404, **MISSING)(self)
        else:
            serve()

    def do_POST(self):
        content, hub = self.content(), self.server
        if not self.known():
            return status(401)(self)
        action = self.path.split("/")[-1].split("?")[0]
        if action == "create":
            about = json.loads(content)
            repository = f"{about['organization']}/{about['name']}"
            if about.get("visibility") == "private" or about.get("private"):
                hub.private.add(repository)
            known = repository in hub.trees
            hub.trees.setdefault(repository, {})
            return self.say(
                {"url": f"{hub.address}/{repository}"}, 409 if known else 200
            )
        if action == "validate-yaml":
            return self.say({})
        if action == "batch":
            objects = json.loads(content)["objects"]
            for one in objects:
                href = {"href": f"{hub.address}/lfs/{one['oid']}"}
                one["actions"] = {"upload": href}
            return self.say({"objects": objects})
        if "/preupload/" in self.path:
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith("hdf5") else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(content)["files"]
            ]
            return self.say({"files": modes})
        repository = "/".join(self.path.split("/")[3:5])
        commit = self.commit(repository, content)
        address = f"{hub.address}/{repository}/commit/{commit}"
        self.say({"commitUrl": address, "commitOid": commit})

    def commit(self, repository, content):
        hub = self.server
        tree = hub.trees[repository]
        for line in map(json.loads, content.splitlines()):
            value = line["value"]
            if line["key"] == "deletedFile":
                del tree[value["path"]]
            elif line["key"] == "lfsFile":
                tree[value["path"]] = hub.large[value["oid"]]
            elif line["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
        commit = hashlib.sha1(content).hexdigest()
        main = f"/{repository}/resolve/main/"
        for path in [path for path in hub.files if path.startswith(main)]:
            del hub.files[path], hub.headers[path]
        hub.publish(tree, commit, repository=repository)
        return commit

    def do_PUT(self):
        content = self.content()
        oid = self.path.split("/")[-1]
        assert hashlib.sha256(content).hexdigest() == oid
        self.server.large[oid] = content
        status(200)(self)

    def known(self):
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def content(self):
        if length := self.headers.get("Content-Length"):
            return self.rfile.read(int(length))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def say(self, answer, code=200):
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class HubServer(FileServer):
    handler = HubHandler

    def __init__(self):
        super().__init__()
        self.trees: dict[str, dict[str, bytes]] = {}  # repository → its main branch
        self.private: set[str] = set()
        self.large: dict[str, bytes] = {}  # SHA-256 → content

    def publish(
        self, files, commit=FIRST, revision="main", *, repository="owner/name", base=""
    ):
        """Publishes name → content as a commit, and as a branch or tag."""
        for at in revision, commit:
            for name, content in files.items():
                path = f"{base}/{repository}/resolve/{at}/{quote(name)}"
                self.files[path] = content
                self.headers[path] = {"X-Repo-Commit": commit}
