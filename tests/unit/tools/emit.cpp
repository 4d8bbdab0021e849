// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What leaves a command: text, one document, lines; and the exit status that reports call for.
#include "tools/frame/emit.hpp"
#include "tools/frame/diags_words.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/full_disk.hpp"

namespace tools_emit_tests {

using namespace ib::tools;

namespace {

struct Sample final : Report {
  ib::Exit exit = ib::Exit::ok;

  void visit(ib::report::Sink& sink) const override {
    sink.value("number", 1U);
    sink.begin_array("rows");
    for (const unsigned n : {2U, 3U}) {
      sink.begin_object();
      sink.value("n", n);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override { out.print("number {}\n", 1); }
  ib::Exit status() const override { return exit; }
};

/// What `use` writes through an Emit.
template <class Use>
std::string written(Format format, Use use) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  {
    Emit emit(Dialect::ibtool, format, "sample", file.get());
    emit.set_table_rows("rows");
    use(emit);
  }
  std::rewind(file.get());
  std::string text(1U << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

}  // namespace

TEST_CASE("a report as text, document and lines") {
  const auto emit_one = [](Emit& emit) {
    emit.heading("# heading");
    emit(Sample());
    emit.finish();
  };
  CHECK(written(Format::text, emit_one) == "# heading\nnumber 1\n");
  const auto document = nlohmann::ordered_json::parse(written(Format::json, emit_one));
  CHECK(document.dump() == R"({"command":"sample","schema":3,"number":1,"rows":[{"n":2},{"n":3}],"status":0})");
  CHECK(written(Format::lines, emit_one) == R"({"command":"sample","schema":3,"list":"rows","item":{"n":2}})"
                                            "\n"
                                            R"({"command":"sample","schema":3,"list":"rows","item":{"n":3}})"
                                            "\n"
                                            R"({"command":"sample","schema":3,"number":1,"status":0})"
                                            "\n");
}

TEST_CASE("a report as a table, and a command whose result is not a table") {
  const auto emit_one = [](Emit& emit) {
    emit.heading("# heading");
    emit(Sample());
    emit.finish();
  };
  CHECK(written(Format::csv, emit_one) == "n\r\n2\r\n3\r\n");
  CHECK(written(Format::tsv, emit_one) == "n\n2\n3\n");
  for (const Format format : {Format::csv, Format::tsv}) {
    Emit emit(Dialect::ibtool, format, "sample", stdout);
    CHECK_THROWS_AS(emit.set_table_rows(""), ib::UsageError);
  }
  for (const Format format : {Format::text, Format::json, Format::lines}) {
    Emit emit(Dialect::ibtool, format, "sample", stdout);
    CHECK_NOTHROW(emit.set_table_rows(""));
  }
}

TEST_CASE("a table that an error cuts short has whole rows and nothing else") {
  const std::string table = written(Format::csv, [](Emit& emit) {
    emit.sink().begin_array("rows");
    for (const unsigned n : {1U, 2U}) {
      emit.sink().begin_object();
      emit.sink().value("n", n);
      if (n == 1) emit.sink().end_object();
    }
    emit.fail(ib::Error("it broke"));
  });
  CHECK(table == "n\r\n1\r\n");
}

TEST_CASE("an error closes the one object of JSON, wherever it comes") {
  const auto failed = [](auto before) {
    return [before](Emit& emit) {
      before(emit);
      ib::Error error("it broke");
      error.note("while trying");
      emit.fail(error);
    };
  };
  const auto nothing = [](Emit&) {};
  const auto in_a_list = [](Emit& emit) {
    emit.sink().begin_array("rows");
    emit.sink().begin_object();
    emit.sink().value("n", 1U);
  };
  using nlohmann::ordered_json;
  CHECK(ordered_json::parse(written(Format::json, failed(nothing))).dump() ==
        R"({"command":"sample","schema":3,"error":"while trying: it broke","status":3})");
  CHECK(ordered_json::parse(written(Format::json, failed(in_a_list))).dump() ==
        R"({"command":"sample","schema":3,"rows":[{"n":1}],"error":"while trying: it broke","status":3})");
  CHECK(written(Format::lines, failed(in_a_list)) == R"({"command":"sample","schema":3,"error":"while trying: it broke","status":3})"
                                                     "\n");
}

TEST_CASE("long text arrives whole") {
  const std::string text = written(Format::text, [](Emit& emit) {
    for (int i = 0; i < 20000; ++i) emit.text().print("{:5}\n", i);
    emit.finish();
  });
  CHECK(text.size() == 120000);
  CHECK(text.substr(119994) == "19999\n");
}

TEST_CASE("findings win over incomplete, and both over ok") {
  const auto status = [](std::initializer_list<ib::Exit> exits) {
    ib::Exit result{};
    written(Format::json, [&](Emit& emit) {
      for (const ib::Exit exit : exits) {
        Sample sample;
        sample.exit = exit;
        emit(sample);
      }
      result = emit.status();
    });
    return result;
  };
  using ib::Exit;
  CHECK(status({Exit::ok}) == Exit::ok);
  CHECK(status({Exit::ok, Exit::incomplete, Exit::ok}) == Exit::incomplete);
  CHECK(status({Exit::incomplete, Exit::findings}) == Exit::findings);
  CHECK(status({Exit::findings, Exit::incomplete}) == Exit::findings);
}

TEST_CASE("a full disk is an error") {
  const ibtest::File full = ibtest::open_full_disk();
  Emit emit(Dialect::ibtool, Format::text, "sample", full.get());
  emit(Sample());
  CHECK_THROWS_AS(emit.flush(), ib::SysError);
}

TEST_CASE("text that a full disk refused is not forgotten, however much it is") {
  const ibtest::File full = ibtest::open_full_disk();
  TextOut out(full.get());
  for (int i = 0; i < 20000; ++i) out.print("{:5}\n", i);  // drains on its way
  out.push();
  CHECK(out.failure() == ENOSPC);
  CHECK_THROWS_WITH(out.finish("the file"), ibtest::contains("the file"));
}

TEST_CASE("a reader that left is no error") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::FILE* file = fdopen(ends[1], "w");
  TextOut out(file);
  out.write("text\n");
  CHECK_NOTHROW(out.finish());
  CHECK(out.failure() == EPIPE);
  std::fclose(file);
  std::signal(SIGPIPE, before);
}

}  // namespace tools_emit_tests
