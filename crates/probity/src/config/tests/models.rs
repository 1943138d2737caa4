//! Models, their keys and their prices.

use llm_client::ExposeSecret as _;

use super::{IMPACT_BENCH, load, yaml};

#[test]
fn tools_are_simulated_by_the_user_model_unless_another_is_named() {
    let user = "user_model: {model: u, source: ollama}\n";
    let settings = yaml(user).unwrap().settings;
    let tool = settings.models.tool.as_ref().unwrap();
    assert_eq!((tool.id.as_str(), tool.path.as_str()), ("u", "user_model"));
    assert_eq!(*settings.generation.max_tool_steps, 10);

    let text = format!(
        "{user}tool_model: {{model: t, source: ollama, apikey: secret}}\ngeneration: {{max_tool_steps: 3}}\n"
    );
    let settings = yaml(&text).unwrap().settings;
    let tool = settings.models.tool.as_ref().unwrap();
    assert_eq!((tool.id.as_str(), tool.path.as_str()), ("t", "tool_model"));
    let public = settings.to_record();
    let public = serde_json::json!(public);
    assert_eq!(public["tool_model"]["model"], "t");
    assert_eq!(public["tool_model"]["apikey"], "***");
    assert_eq!(public["generation"]["max_tool_steps"], 3);
}

#[test]
fn names_on_the_wire_lose_their_source_and_keys_are_resolved_at_use() {
    let vars = [
        ("OPENAI_API_KEY", "sk-1"),
        ("SWISS_KEY", "sk-2"),
        ("TEAM", "a"),
    ];
    let config = load("config.yaml", IMPACT_BENCH, &vars).unwrap();
    let endpoints = config.endpoints(None).unwrap();
    let models = &config.settings.models;
    let swiss = endpoints.resolve(&models.targets[0]).unwrap();
    assert_eq!(
        (swiss.model.as_str(), swiss.base_url.as_str()),
        ("swiss-ai/x", "https://api.swiss.example/v1")
    );
    assert_eq!(swiss.api_key.as_ref().unwrap().expose_secret(), "sk-2");
    let headers: Vec<(&str, &str)> = swiss
        .extra_headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(headers, [("X-Team-ID", "a"), ("x-b", "two")]);
    assert_eq!(
        swiss.price, None,
        "another host's price is not the provider's"
    );
    let user = endpoints.resolve(models.user.as_ref().unwrap()).unwrap();
    assert_eq!(user.model, "gpt-4.1");
    assert!(user.price.is_some());
    let judge = endpoints
        .resolve(models.judges.first().unwrap())
        .unwrap_err();
    assert_eq!(
        judge.to_string(),
        "config.yaml, line 13: evaluator_model: no key for anthropic; export ANTHROPIC_API_KEY, write ANTHROPIC_API_KEY=... into .env, or set apikey"
    );
}

#[test]
fn a_missing_variable_is_named_when_it_is_used() {
    let config = load("config.yaml", IMPACT_BENCH, &[("OPENAI_API_KEY", "sk")]).unwrap();
    let endpoints = config.endpoints(None).unwrap();
    let error = endpoints
        .resolve(&config.settings.models.targets[0])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "config.yaml, line 27: targets[0].apikey: the environment variable SWISS_KEY is not set; export it, or \
         write SWISS_KEY=... into .env"
    );
    endpoints
        .resolve(&config.settings.models.targets[1])
        .unwrap();
}

#[test]
fn a_server_of_ones_own_on_this_machine_costs_nothing_unless_prices_say_so() {
    let file = "user_model: {source: ollama, model: llama3}\n\
                evaluator_model: {source: vllm, model: big, base_url: \"http://gpu-box:8000/v1\"}\n\
                targets:\n\
                - {id: a, source: llamacpp, model: x, base_url: \"http://127.0.0.1:8081/v1\"}\n\
                - {id: b, source: ollama, model: dear}\n\
                - {id: c, model: proxied, base_url: \"http://localhost:4000/v1\"}\n\
                - {id: d, model: openai/gpt-9, base_url: \"http://localhost:4000/v1\"}\n\
                - {id: e, model: proxied, gateway: true, base_url: \"http://localhost:4000/v1\"}\n\
                - {id: f, model: openai/gpt-oss-20b, gateway: false, base_url: \"http://localhost:8000/v1\"}\n\
                - {id: g, model: openai/dear, base_url: \"http://localhost:4000/v1\"}\n\
                prices: [{model: dear, input: 1, output: 2}, {model: openai/dear, input: 1, output: 3}]\n";
    let config = load("config.yaml", file, &[]).unwrap();
    let endpoints = config.endpoints(None).unwrap();
    let models = config.settings.models.all();
    let prices: Vec<(String, Option<f64>)> = models
        .map(|entry| {
            let settings = endpoints.without_key(entry).unwrap();
            let price = settings.price.map(|price| price.output);
            assert_eq!(settings.assumed_free, price == Some(0.0), "{}", entry.id);
            (entry.id.to_string(), price)
        })
        .collect();
    let price = |id: &str| prices.iter().find(|(known, _)| known == id).unwrap().1;
    assert_eq!(price("llama3"), Some(0.0));
    assert_eq!(price("big"), None, "another host may ask for something");
    assert_eq!(price("a"), Some(0.0));
    assert_eq!(price("b"), Some(2.0));
    assert_eq!(price("c"), Some(0.0));
    assert_eq!(price("d"), None, "a gateway needs its price");
    assert_eq!(price("e"), None);
    assert_eq!(price("f"), Some(0.0));
    assert_eq!(price("g"), Some(3.0));
}

#[test]
fn the_public_form_holds_no_secret() {
    let text = "targets:\n  - id: a\n    model: m\n    base_url: https://me:pass-word@host/v1?key=query-key\n    apikey: sk-literal\n    \
        extra_headers: {Authorization: Bearer header-key, X-Id: '${ID}'}\n    extra_body: {user_key: body-key, top_k: 3}\n\
        user_model: {model: ollama/x, apikey: '${KEY}'}\n";
    let public = yaml(text).unwrap().settings.to_record();
    let public = serde_json::json!(public);
    let shown = public.to_string();
    for secret in [
        "pass-word",
        "query-key",
        "sk-literal",
        "header-key",
        "body-key",
    ] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert_eq!(public["targets"][0]["apikey"], "***");
    assert_eq!(public["targets"][0]["extra_headers"]["X-Id"], "${ID}");
    assert_eq!(public["targets"][0]["extra_body"]["top_k"], 3);
    assert_eq!(public["user_model"]["apikey"], "${KEY}");
}

#[test]
fn a_version_is_any_text_and_is_recorded_as_it_is_used() {
    let text = |version: &str| {
        format!("targets: [{{id: a, model: m, base_url: 'http://h/v1', version: {version}}}]\n")
    };
    let version = |written: &str, vars: &[(&str, &str)]| {
        let config = load("config.yaml", &text(written), vars).unwrap();
        let endpoints = config.endpoints(None).unwrap();
        let entry = &config.settings.models.targets[0];
        let public = config
            .settings
            .to_record()
            .targets
            .remove(0)
            .version
            .unwrap();
        let used = endpoints
            .without_key(entry)
            .map(|settings| settings.version);
        (used.map_err(|error| error.to_string()), public)
    };
    for (written, used) in [("2.50", "2.50"), ("'a b'", "a b"), ("'${GIT_SHA}'", "1f3e")] {
        let (version, public) = version(written, &[("GIT_SHA", "1f3e")]);
        assert_eq!(version, Ok(Some(used.to_owned())));
        assert_eq!(public, used);
    }
    let (missing, public) = version("'${GIT_SHA}'", &[]);
    let missing = missing.unwrap_err();
    assert!(
        missing.contains("targets[0].version: ") && missing.contains("GIT_SHA"),
        "{missing}"
    );
    assert_eq!(public, "${GIT_SHA}");
    let (empty, _) = version("' '", &[]);
    assert_eq!(
        empty.unwrap_err(),
        "config.yaml, line 1: targets[0].version: the version is empty; leave the key out where there is none"
    );
}
