# The adapter of my client library: the suite that judges clients drives the library through it.
#
#   understudy conform --client 'ruby adapter.rb'
#
# One JSON object per line on standard input, one answer per line on standard output. Convert names
# only: never repair, retry, validate or rescue for the library.
require "json"
require "acme" # FILL IN: your library

$stdout.sync = true

def client_of(config) # what is absent in config must stay the default of the library
  Acme::Client.new(url: config["url"], token: config["token"])
end

OPERATIONS = { # see docs/client-suite.md for all names
  "publish" => lambda do |config, args|
    options = {}
    given = args["options"] || {} # only those that hello declares
    options[:delay] = given["delay"] if given.key?("delay")
    options[:headers] = args["headers"].to_h if args["headers"]
    result = client_of(config).publish(args["destination"]["url"], args.dig("body", "text"), **options)
    { messageId: result.message_id } # the names of the interface document
  end,
  "verify" => lambda do |_, args|
    Acme::Receiver.new(args["current"], args["next"]).verify(args["signature"], args["body"]["text"], url: args["url"])
    { valid: true } # a refusal is the error that the library raises
  end,
}.freeze

$stdin.each_line do |line|
  call = JSON.parse(line)
  answer =
    if call["op"] == "hello"
      {
        protocol: 1, name: "acme", version: Acme::VERSION, language: "Ruby #{RUBY_VERSION}",
        operations: OPERATIONS.keys, options: %w[delay headers], features: %w[base_url], sentinel: "publish",
      }
    else
      begin
        results = Array.new(call["times"]) { OPERATIONS.fetch(call["op"]).call(call["client"], call["args"]) }
        { result: results.last }
      rescue StandardError => e # what the library raises is its answer
        { error: { class: e.class.name, library: e.is_a?(Acme::Error), message: e.message } }
      end
    end
  puts JSON.generate({ id: call["id"] }.merge(answer))
end
